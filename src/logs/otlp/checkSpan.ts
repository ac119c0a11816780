import type { Problem } from "./decoded.ts";
import type { OtlpAttributes, OtlpKind, OtlpSpan } from "./span.ts";

/** A span as either encoding has it, before its ids and times are checked. */
export interface RawSpan {
  /** Hexadecimal in lower case, of any length; empty when absent. */
  traceId: string;
  spanId: string;
  parentSpanId: string;
  traceState: string;
  flags: number;
  name: string;
  kind: number;
  /** Null when absent or not a time. */
  startNanos: bigint | null;
  endNanos: bigint | null;
  attributes: OtlpAttributes;
  events: OtlpSpan["events"];
  links: OtlpSpan["links"];
  statusCode: number;
  statusMessage: string;
  /** Fields that only a log record has. */
  isLogRecord: boolean;
}

const digitsOf = { "trace id": 32, "span id": 16, "parent span id": 16 };
const NANOS_PER_MS = 1_000_000n;
/** Earlier times were sent in another unit than nanoseconds. */
const EARLIEST_NANOS = BigInt(Date.UTC(2000)) * NANOS_PER_MS;
const MAX_NANOS = 2n ** 64n;
/** Bits 8 and 9 of the flags: it is known whether the parent is remote, and it is. */
const REMOTE_PARENT = 0x300;
const kinds: OtlpKind[] = ["unspecified", "internal", "server", "client", "producer", "consumer"];
/** No id. */
export const ZEROS = /^0*$/;

/** The span when its ids and its start are usable, else why not. */
export function checkSpan(
  raw: RawSpan,
  around: Pick<OtlpSpan, "resource" | "scope">,
): { span: OtlpSpan; warnings: string[] } | Problem {
  const problem = problemOf(raw);
  if (problem) return problem;
  const { name, attributes, events, links } = raw;
  const { start, end, warnings } = timesOf(raw);
  const parentSpanId = ZEROS.test(raw.parentSpanId) ? null : raw.parentSpanId;
  const span: OtlpSpan = {
    traceId: raw.traceId,
    spanId: raw.spanId,
    parentSpanId,
    hasRemoteParent: parentSpanId !== null && (raw.flags & REMOTE_PARENT) === REMOTE_PARENT,
    name,
    kind: kinds[raw.kind] ?? "unspecified",
    startTime: toDate(start),
    endTime: end === null ? null : toDate(end),
    startNanos: start.toString(),
    endNanos: end === null ? null : end.toString(),
    attributes,
    events,
    links,
    status: raw.statusCode === 2 ? "error" : raw.statusCode === 1 ? "ok" : null,
    statusMessage: raw.statusMessage || null,
    traceState: raw.traceState || null,
    resource: around.resource,
    scope: around.scope,
  };
  return { span, warnings };
}

function problemOf(raw: RawSpan): Problem | null {
  if (raw.traceId === "" && raw.spanId === "" && raw.isLogRecord) return LOG_RECORD;
  return (
    problemOfId("trace id", raw.traceId) ??
    problemOfId("span id", raw.spanId) ??
    (ZEROS.test(raw.parentSpanId) ? null : problemOfId("parent span id", raw.parentSpanId)) ??
    problemOfTime("start time", raw.startNanos)
  );
}

const LOG_RECORD: Problem = {
  code: "log_record",
  reason: "has no ids: these look like log records; send logs to /v1/logs",
};

const HEXADECIMAL = /^[\da-f]*$/;

/** Why an id is unusable; null when it is not. */
export function problemOfId(what: keyof typeof digitsOf, id: string): Problem | null {
  const digits = digitsOf[what];
  if (id === "") return { code: "ids", reason: `has no ${what}` };
  if (!HEXADECIMAL.test(id)) return { code: "ids", reason: `has a ${what} that is not hexadecimal` };
  if (id.length !== digits)
    return { code: "ids", reason: `has a ${what} of ${id.length / 2} bytes instead of ${digits / 2}` };
  return ZEROS.test(id) ? { code: "ids", reason: `has a ${what} of zeros` } : null;
}

/** Why a time is unusable; null when it is not. */
export function problemOfTime(what: string, nanos: bigint | null): Problem | null {
  if (nanos === null || nanos === 0n) return { code: "start", reason: `has no ${what}` };
  if (nanos >= EARLIEST_NANOS && nanos < MAX_NANOS) return null;
  return {
    code: "start",
    reason: `has an impossible ${what}: times are nanoseconds since 1970, here from the year 2000 on`,
  };
}

function timesOf({ startNanos, endNanos }: RawSpan) {
  const start = startNanos!;
  if (endNanos === null || endNanos === 0n) return { start, end: null, warnings: [] };
  if (endNanos >= start && endNanos < MAX_NANOS) return { start, end: endNanos, warnings: [] };
  return { start, end: null, warnings: ["ends before it starts, so it is stored without an end"] };
}

const toDate = (nanos: bigint) => new Date(Number(nanos / NANOS_PER_MS));

/** ISO 8601 to the millisecond; null when there is no time. */
export function toIsoTime(nanos: bigint | null): string | null {
  return nanos === null || nanos <= 0n || nanos >= MAX_NANOS ? null : toDate(nanos).toISOString();
}
