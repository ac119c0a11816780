import { isObject } from "../formats/rows.ts";
import type { Entry, Place } from "./entries.ts";
import { toJudgement, toNanos, toSpans } from "./spans.ts";
import { listIn, objectIn, parsed, textIn, textsIn } from "./values.ts";

type Values = Record<string, unknown>;

/** LangSmith's types of runs, in the words of Gabbro; all others are plain spans. */
const types: Record<string, string> = {
  ...{ llm: "generation", tool: "tool", retriever: "retrieval", embedding: "embedding" },
};

/** A run, and each kind of its feedback as a step below it. */
export function* langsmithSpans(place: Place, value: Values): Generator<Entry> {
  const { file, line } = place;
  const id = textIn(value, "run_id", "id");
  if (!id) {
    yield { kind: "refused", file, line, reason: "has no id" };
    return;
  }
  const traceId = textIn(value, "trace_id") ?? id;
  // Exports of many runs hold objects as texts of JSON.
  const extra = parsed(value.extra);
  const error = textIn(value, "error");
  yield toSpans(place, {
    ...{ traceId, id, parentId: textIn(value, "parent_run_id") ?? null },
    name: textIn(value, "name") ?? "",
    ...{ start: value.start_time, end: value.end_time },
    attributes: attributesOf(value, isObject(extra) ? extra : {}),
    events: listIn(value, "events").map(({ name, time, ...attributes }) => ({
      name: String(name),
      time,
      attributes,
    })),
    ...(error && { status: { code: 2, message: error } }),
  });
  const feedback = parsed(value.feedback_stats);
  for (const [name, output] of isObject(feedback) ? Object.entries(feedback) : [])
    if (isObject(output))
      yield toJudgement(place, {
        ...{ traceId, id: `feedback ${id} ${name}`, parentId: id, name },
        time: value.start_time, // the end may be missing yet, and the id of the log follows from the time
        ...{ output, metadata: { of: id } },
      });
}

function attributesOf(value: Values, extra: Values): Values {
  const metadata = objectIn(extra, "metadata") ?? {};
  const invocation = objectIn(extra, "invocation_params") ?? {};
  return {
    "basalt.span.kind": types[String(value.run_type)] ?? "span",
    "input.value": value.inputs,
    "output.value": value.outputs,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    "langsmith.run.id": value.run_id ?? value.id,
    "langsmith.run.type": value.run_type,
    "langsmith.project.name": value.session_name,
    "langsmith.reference_example_id": value.reference_example_id,
    "langsmith.invocation_params": Object.keys(invocation).length > 0 ? invocation : undefined,
    "tag.tags": textsIn(value, "tags").length > 0 ? textsIn(value, "tags") : undefined,
    "session.id": textIn(metadata, "session_id", "thread_id", "conversation_id"),
    "gen_ai.provider.name": textIn(metadata, "ls_provider"),
    "gen_ai.request.model": textIn(metadata, "ls_model_name") ?? textIn(invocation, "model", "model_name"),
    "gen_ai.usage.input_tokens": filled(value.prompt_tokens),
    "gen_ai.usage.output_tokens": filled(value.completion_tokens),
    "gen_ai.usage.cost": filled(Number(value.total_cost)),
    "gen_ai.response.time_to_first_chunk": secondsBetween(value.start_time, value.first_token_time),
  };
}

/** LangSmith writes 0 for what it does not know. */
const filled = (count: unknown): unknown => (count === 0 || Number.isNaN(count) ? undefined : count);

const NANOS_IN_SECOND = 1e9;

function secondsBetween(from: unknown, to: unknown): number | undefined {
  const [start, end] = [toNanos(from), toNanos(to)];
  return start === null || end === null ? undefined : Number(BigInt(end) - BigInt(start)) / NANOS_IN_SECOND;
}
