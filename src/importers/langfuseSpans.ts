import type { Entry, Place } from "./entries.ts";
import { slugOf } from "./slugs.ts";
import { toIso, toJudgement, toSpans } from "./spans.ts";
import { textIn, textsIn } from "./values.ts";

type Values = Record<string, unknown>;

/** An observation as the SDK of Langfuse would have sent it. */
export function toLangfuseSpan(place: Place, value: Values): Entry {
  const { file, line } = place;
  const traceId = textIn(value, "traceId");
  const id = textIn(value, "id");
  if (!traceId || !id) return { kind: "refused", file, line, reason: "has no ids" };
  const prompt = textIn(value, "promptName");
  return toSpans(place, {
    ...{ traceId, id, parentId: textIn(value, "parentObservationId") ?? null },
    name: textIn(value, "name") ?? "",
    ...{ start: value.startTime, end: value.endTime },
    attributes: {
      "langfuse.observation.id": id,
      "langfuse.observation.type": textIn(value, "type")?.toLowerCase(),
      "langfuse.observation.input": value.input,
      "langfuse.observation.output": value.output,
      "langfuse.observation.metadata": filled(value.metadata),
      "langfuse.observation.level": textIn(value, "level"),
      "langfuse.observation.status_message": textIn(value, "statusMessage"),
      "langfuse.observation.model.name": textIn(value, "providedModelName", "model"),
      "langfuse.observation.model.parameters": filled(value.modelParameters),
      "langfuse.observation.usage_details": filled(value.usageDetails),
      "langfuse.observation.cost_details": filled(costOf(value)),
      "langfuse.observation.completion_start_time": toIso(value.completionStartTime),
      "langfuse.version": textIn(value, "version"),
      ...(prompt && {
        "gabbro.prompt.slug": slugOf(prompt),
        "gabbro.prompt.version": textIn(value, "promptVersion"),
      }),
      ...ofTrace(value),
      "langfuse.trace.name": textIn(value, "traceName"),
    },
  });
}

/** What an observation or a trace says of its trace. */
function ofTrace(value: Values) {
  return {
    "langfuse.environment": textIn(value, "environment"),
    "langfuse.release": textIn(value, "release"),
    "langfuse.user.id": textIn(value, "userId"),
    "langfuse.session.id": textIn(value, "sessionId"),
    "langfuse.trace.tags": textsIn(value, "tags").length > 0 ? textsIn(value, "tags") : undefined,
  };
}

function costOf({ costDetails, totalCost, calculatedTotalCost }: Values): unknown {
  if (filled(costDetails) !== undefined) return costDetails;
  const total = totalCost ?? calculatedTotalCost;
  return typeof total === "number" ? { total } : undefined;
}

/** An object that says something, also as a text of JSON. */
function filled(value: unknown): unknown {
  if (value === "{}" || value === "") return undefined;
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return isEmpty ? undefined : value;
}

/** A trace as a span of its own: Langfuse keeps its input and output beside those of its observations. */
export function traceSpan(place: Place, value: Values): Entry {
  const id = textIn(value, "id")!;
  const name = textIn(value, "name");
  return toSpans(place, {
    ...{ traceId: id, id: `trace ${id}`, parentId: null },
    name: name ?? "trace",
    ...{ start: value.timestamp, end: null },
    attributes: {
      "langfuse.observation.type": "span",
      "langfuse.observation.input": value.input,
      "langfuse.observation.output": value.output,
      "langfuse.observation.metadata": filled(value.metadata),
      "langfuse.version": textIn(value, "version"),
      ...ofTrace(value),
      "langfuse.trace.name": name,
    },
  });
}

/** A score as a step of an evaluator below what it judges. */
export function scoreSpan(place: Place, value: Values): Entry {
  const traceId = textIn(value, "traceId");
  const id = textIn(value, "id");
  if (!traceId || !id) return { kind: "leftOut", what: "scores of sessions and of runs of datasets" };
  const { id: _, traceId: __, observationId, name, timestamp, value: score, stringValue, ...rest } = value;
  const { comment, metadata, projectId, createdAt, updatedAt, ...more } = rest;
  return toJudgement(place, {
    ...{ traceId, id: `score ${id}`, parentId: textIn({ observationId }, "observationId") ?? null },
    name: typeof name === "string" ? name : "score",
    time: timestamp ?? createdAt,
    output: { value: score ?? null, stringValue, comment: comment ?? undefined },
    metadata: { score: id, ...more, ...(filled(metadata) ? { metadata } : {}) },
  });
}
