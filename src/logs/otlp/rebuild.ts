import type { Log, Trace } from "../entities.ts";
import { isIdOfSpan, startNanosOf } from "../spanIds.ts";
import type { OtlpAttributes, OtlpEvent, OtlpLink, OtlpScope, OtlpSpan } from "./span.ts";

/** What a span is rebuilt from. */
export type StoredSpan = Pick<
  Log,
  | ("id" | "externalId" | "parentExternalId" | "remoteParentId" | "name" | "status" | "statusMessage")
  | ("startTime" | "endTime" | "attributes" | "events")
> & { traceExternalId: Trace["externalId"] };

/** The parts of `attributes`, each absent when it was empty or is in a column of the log. */
interface Raw {
  name?: string;
  kind?: OtlpSpan["kind"];
  status?: OtlpSpan["status"];
  statusMessage?: string | null;
  span?: OtlpAttributes;
  resource?: OtlpAttributes;
  scope?: Partial<OtlpScope>;
  links?: OtlpLink[];
  traceState?: string;
  /** Of a log that a log record became, not a span. */
  record?: OtlpAttributes;
}

const TRACE_ID = /^[\da-f]{32}$/;
const SPAN_ID = /^[\da-f]{16}$/;
const NANOS_PER_MS = 1_000_000n;

/** The span that a log was; null for a log that was none. Its kind is mostly unknown. */
export function rebuildSpan(log: StoredSpan): OtlpSpan | null {
  const { externalId, traceExternalId, remoteParentId } = log;
  const raw = (log.attributes ?? {}) as Raw;
  if (raw.record || !externalId || !traceExternalId || !isIdOfSpan(log.id)) return null;
  if (!SPAN_ID.test(externalId) || !TRACE_ID.test(traceExternalId)) return null;
  const { startTime, endTime } = log;
  const startNanos = BigInt(startTime.getTime()) * NANOS_PER_MS + BigInt(startNanosOf(log.id));
  return {
    traceId: traceExternalId,
    spanId: externalId,
    parentSpanId: remoteParentId ?? log.parentExternalId,
    hasRemoteParent: remoteParentId !== null,
    name: raw.name ?? log.name ?? "",
    kind: raw.kind ?? "unspecified",
    ...{ startTime, endTime },
    startNanos: startNanos.toString(),
    endNanos: endTime && (BigInt(endTime.getTime()) * NANOS_PER_MS).toString(),
    attributes: raw.span ?? {},
    events: (log.events ?? []) as OtlpEvent[],
    links: raw.links ?? [],
    status: raw.status === undefined ? log.status : raw.status,
    statusMessage: raw.statusMessage === undefined ? log.statusMessage : raw.statusMessage,
    traceState: raw.traceState ?? null,
    resource: raw.resource ?? {},
    scope: { name: null, version: null, attributes: {}, ...raw.scope },
  };
}
