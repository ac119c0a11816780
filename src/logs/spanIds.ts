import { createHash } from "node:crypto";
import { stringify } from "uuid";

const UUID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const TIME_BYTES = 6;
const MAX_TIME_MS = 2 ** 48 - 1;
const NANOS_IN_MS = 1_000_000;
/** The parts of a millisecond that the 12 bits behind the version tell apart. */
const FRACTIONS = 2 ** 12;

/** The id of the trace of a workspace with an id of OpenTelemetry: the same whenever one of its spans comes. */
export function traceIdOf(workspaceId: string, traceId: string): string {
  return toUuid(digestOf([workspaceId, traceId]));
}

/**
 * The id of the log of a span: the same whenever the span is sent again. It begins with the start to a quarter of a
 * microsecond, so that logs are stored, and steps that begin in one millisecond are shown, in the order of their times.
 */
export function logIdOf(workspaceId: string, { traceId, spanId, startMs, startNanos }: SpanKey): string {
  const bytes = digestOf([workspaceId, traceId, spanId]);
  bytes.writeUIntBE(Math.min(Math.max(0, startMs), MAX_TIME_MS), 0, TIME_BYTES);
  bytes.writeUInt16BE(Math.floor((startNanos * FRACTIONS) / NANOS_IN_MS), TIME_BYTES);
  return toUuid(bytes);
}

/** The first of the nanoseconds within a millisecond for which the id of a log is this one. */
export function startNanosOf(logId: string): number {
  const fraction = Number.parseInt(logId.slice("00000000-0000-8".length, "00000000-0000-8000".length), 16);
  return Math.ceil((fraction * NANOS_IN_MS) / FRACTIONS);
}

/** An id as a span has it, of an event that has none: the same whenever the event is sent again. */
export const eventIdOf = (parts: string[]): string => digestOf(parts).toString("hex", 0, SPAN_ID_BYTES);

/** Whether a log came as a span: the ids of other logs are of another version. */
export const isIdOfSpan = (logId: string): boolean => logId["00000000-0000-".length] === "8";

interface SpanKey {
  traceId: string;
  spanId: string;
  startMs: number;
  /** Nanoseconds within the millisecond. */
  startNanos: number;
}

function digestOf(parts: string[]): Buffer {
  return createHash("sha256").update(parts.join("\n")).digest().subarray(0, UUID_BYTES);
}

/** A UUID of version 8, whose content its maker defines (RFC 9562, section 5.8). */
function toUuid(bytes: Buffer): string {
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return stringify(bytes);
}
