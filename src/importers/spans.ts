import { createHash } from "node:crypto";
import type { ImportedSpans, Place, Refused } from "./entries.ts";

/** A step of a trace as another product exports it, by its own ids. */
export interface SourceSpan {
  traceId: string;
  id: string;
  parentId: string | null;
  name: string;
  /** ISO 8601 with a T or a space, in UTC without a zone; or milliseconds since 1970. */
  start: unknown;
  end: unknown;
  attributes: Record<string, unknown>;
  status?: { code: number; message?: string };
  events?: { name: string; time: unknown; attributes: Record<string, unknown> }[];
}

const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;

/** A span of OpenTelemetry, whose ids are those of the source where they fit, else derived from them. */
export function toSpans({ file, line }: Place, span: SourceSpan): ImportedSpans | Refused {
  const startTimeUnixNano = toNanos(span.start);
  if (startTimeUnixNano === null) return { kind: "refused", file, line, reason: "has no valid start time" };
  const otlp = {
    traceId: hexId(span.traceId, TRACE_ID_DIGITS),
    spanId: hexId(span.id, SPAN_ID_DIGITS),
    ...(span.parentId && { parentSpanId: hexId(span.parentId, SPAN_ID_DIGITS) }),
    name: span.name,
    kind: 1,
    startTimeUnixNano,
    endTimeUnixNano: toNanos(span.end) ?? undefined,
    attributes: toAttributes(span.attributes),
    events: span.events?.map(({ name, time, attributes }) => ({
      name,
      timeUnixNano: toNanos(time) ?? undefined,
      attributes: toAttributes(attributes),
    })),
    status: span.status,
  };
  const json = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [otlp] }] }] });
  return { kind: "spans", file, line, json };
}

/** What somebody or something found of a step or of a whole trace. */
export interface Judgement {
  traceId: string;
  /** An id that no step has. */
  id: string;
  parentId: string | null;
  name: string;
  time: unknown;
  output: Record<string, unknown>;
  metadata: Record<string, unknown>;
}

/** A judgement as a step of an evaluator, below what it judges. */
export function toJudgement(place: Place, { time, output, metadata, ...judgement }: Judgement) {
  return toSpans(place, {
    ...judgement,
    ...{ start: time, end: time },
    attributes: {
      "openinference.span.kind": "EVALUATOR",
      "output.value": JSON.stringify(output),
      metadata: JSON.stringify(metadata),
    },
  });
}

/** An id in hexadecimal: a UUID or hexadecimal id of that length as it is, any other by its hash. */
function hexId(id: string, digits: number): string {
  const hex = id.replaceAll("-", "").toLowerCase();
  const fits = hex.length === digits && /^[0-9a-f]+$/.test(hex) && !/^0+$/.test(hex);
  return fits ? hex : createHash("sha256").update(id).digest("hex").slice(0, digits);
}

const TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\d*\s?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/;
const NANOS_DIGITS = 9;
const MS_DIGITS = 3;

/** The last time of JavaScript. */
const MAX_MS = 8.64e15;

/** Nanoseconds since 1970 as a decimal text; null for what is no time. */
export function toNanos(time: unknown): string | null {
  if (typeof time === "number" && time > 0 && time <= MAX_MS)
    return String(BigInt(Math.round(time * 1_000)) * 1_000n);
  const [, date, clock, fraction = "", zone] = (typeof time === "string" && TIME.exec(time)) || [];
  if (!date) return null;
  const digits = fraction.padEnd(NANOS_DIGITS, "0");
  const offset = zone === undefined || zone === "UTC" ? "Z" : zone.length === MS_DIGITS ? `${zone}:00` : zone;
  const ms = Date.parse(`${date}T${clock}.${digits.slice(0, MS_DIGITS)}${offset}`);
  return Number.isNaN(ms) ? null : String(BigInt(ms) * 1_000_000n + BigInt(digits.slice(MS_DIGITS)));
}

/** A time as ISO 8601 in UTC; undefined for what is no time. */
export function toIso(time: unknown): string | undefined {
  const nanos = toNanos(time);
  return nanos === null ? undefined : new Date(Number(BigInt(nanos) / 1_000_000n)).toISOString();
}

function toAttributes(attributes: Record<string, unknown>) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: toValue(value) }],
  );
}

/** Objects and lists as JSON texts, as instrumentations send them, but lists of texts as they are. */
function toValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
  if (Array.isArray(value) && value.every((each) => typeof each === "string"))
    return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
  return { stringValue: JSON.stringify(value) };
}
