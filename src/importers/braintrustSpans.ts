import type { Entry, Place } from "./entries.ts";
import { toJudgement, toSpans } from "./spans.ts";
import { objectIn, textIn, textsIn } from "./values.ts";

type Values = Record<string, unknown>;

const MS = 1_000;

/** Braintrust's types of spans, in the words of Gabbro. */
const types: Record<string, string> = {
  llm: "generation",
  score: "evaluator",
  function: "function",
  tool: "tool",
};

/** A span of a log or an experiment, and each of its scores as a step below it. */
export function* braintrustSpans(place: Place, value: Values): Generator<Entry> {
  const { file, line } = place;
  const id = textIn(value, "span_id", "id");
  const traceId = textIn(value, "root_span_id", "span_id", "id");
  if (!id || !traceId) {
    yield { kind: "refused", file, line, reason: "has no ids" };
    return;
  }
  const metrics = objectIn(value, "metrics") ?? {};
  const kind = objectIn(value, "span_attributes") ?? {};
  const start = secondsToMs(metrics.start) ?? value.created;
  const [parentId = null] = textsIn(value, "span_parents");
  const error = value.error ?? null;
  yield toSpans(place, {
    ...{ traceId, id, parentId, name: textIn(kind, "name") ?? "" },
    ...{ start, end: secondsToMs(metrics.end) ?? null },
    attributes: {
      "basalt.span.kind": types[String(kind.type)] ?? "span",
      "input.value": value.input,
      "output.value": value.output,
      metadata: value.metadata,
      "tag.tags": textsIn(value, "tags").length > 0 ? textsIn(value, "tags") : undefined,
      "braintrust.expected": value.expected,
      "braintrust.id": value.id,
      "braintrust.experiment_id": value.experiment_id,
      "braintrust.span_attributes": kind,
      ...usageOf(metrics, kind.type === "llm" ? objectIn(value, "metadata") : undefined),
    },
    ...(error !== null && {
      status: { code: 2, message: typeof error === "string" ? error : JSON.stringify(error) },
    }),
  });
  for (const [name, score] of Object.entries(objectIn(value, "scores") ?? {}))
    if (score !== null)
      yield toJudgement(place, {
        ...{ traceId, id: `score ${id} ${name}`, parentId: id, name },
        time: start, // the end may be missing yet, and the id of the log follows from the time
        output: { score },
        metadata: { of: id },
      });
}

function usageOf(metrics: Values, metadata: Values | undefined) {
  const seconds = metrics.time_to_first_token;
  return {
    "gen_ai.request.model": metadata && textIn(metadata, "model"),
    "gen_ai.provider.name": metadata && textIn(metadata, "provider"),
    "gen_ai.usage.input_tokens": metrics.prompt_tokens,
    "gen_ai.usage.output_tokens": metrics.completion_tokens,
    "gen_ai.usage.cache_read.input_tokens": metrics.prompt_cached_tokens,
    "gen_ai.usage.cache_creation.input_tokens": metrics.prompt_cache_creation_tokens,
    "gen_ai.usage.reasoning.output_tokens": metrics.completion_reasoning_tokens,
    "gen_ai.usage.cost": metrics.estimated_cost,
    "gen_ai.response.time_to_first_chunk": typeof seconds === "number" ? seconds : undefined,
  };
}

const secondsToMs = (seconds: unknown): number | undefined =>
  typeof seconds === "number" ? seconds * MS : undefined;
