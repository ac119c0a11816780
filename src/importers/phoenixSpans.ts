import type { ForeignRow } from "../database/sqlite/foreignFile.ts";
import { isObject } from "../formats/rows.ts";
import type { Entry, Place } from "./entries.ts";
import { toJudgement, toSpans } from "./spans.ts";
import { listIn, objectIn, textIn } from "./values.ts";

/** Attributes that senders write as JSON, and Phoenix stores parsed. */
const JSON_ATTRIBUTES =
  /^(?:metadata|llm\.prompt_template\.variables|tool\.parameters)$|\.document\.metadata$/;

/** A span of OpenInference as it was sent: Phoenix stores `llm.model_name` as an object in an object. */
export function phoenixSpan(place: Place, row: ForeignRow): Entry {
  const flat: Record<string, unknown> = {};
  flatten(objectIn(row, "attributes") ?? {}, "", flat);
  const status = textIn(row, "status_code");
  const message = textIn(row, "status_message");
  return toSpans(place, {
    traceId: textIn(row, "trace_id") ?? "",
    id: textIn(row, "span_id") ?? "",
    parentId: textIn(row, "parent_id") ?? null,
    name: textIn(row, "name") ?? "",
    ...{ start: row.start_time, end: row.end_time },
    attributes: { ...flat, "openinference.project.name": row.project },
    events: listIn(row, "events").map((event) => ({
      name: textIn(event, "name") ?? "",
      time: event.timestamp,
      attributes: objectIn(event, "attributes") ?? {},
    })),
    status: { code: status === "ERROR" ? 2 : status === "OK" ? 1 : 0, ...(message && { message }) },
  });
}

function flatten(value: object, prefix: string, flat: Record<string, unknown>): void {
  for (const [name, member] of Object.entries(value)) {
    const key = `${prefix}${name}`;
    const isBranch = isObject(member) || (Array.isArray(member) && member.every(isObject));
    if (isBranch && !JSON_ATTRIBUTES.test(key)) flatten(member as object, `${key}.`, flat);
    else flat[key] = member;
  }
}

/** An annotation as a step below the span, or beside the root of the trace, that it is about. */
export function annotationSpan(place: Place, table: string, row: ForeignRow): Entry {
  const { score, label, explanation, metadata, annotator_kind, identifier, source } = row;
  return toJudgement(place, {
    traceId: textIn(row, "trace_id") ?? "",
    id: `${table} ${row.id} ${row.trace_id}`,
    parentId: textIn(row, "span_id") ?? null,
    name: textIn(row, "name") ?? "annotation",
    time: row.created_at,
    output: { score, label, explanation },
    metadata: { annotatorKind: annotator_kind, identifier, source, metadata },
  });
}
