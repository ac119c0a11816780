import { countJson } from "../../limits/jsonSize.ts";
import type { Reading } from "./attributes.ts";
import { addProblem, LONG_NAME, mayRead, newReading, TOO_MANY_VALUES } from "./attributes.ts";
import { MAX_VALUES } from "./bounds.ts";
import { type RawSpan, toIsoTime } from "./checkSpan.ts";
import type { Elements, Slice } from "./decoded.ts";
import {
  type Cursor,
  cursorAt,
  expectEnd,
  isAtItem,
  isAtList,
  itemsOf,
  keysOf,
  skipValue,
} from "./jsonScan.ts";
import {
  anyValueOf,
  attributesOf,
  idOf,
  type JsonMembers,
  listOf,
  membersOf,
  nanosOf,
  numberOf,
  textOf,
} from "./jsonValues.ts";
import type { RawLogRecord } from "./logRecord.ts";
import type { OtlpAttributes, OtlpScope } from "./span.ts";

/** The names of the lists that lead to the elements. */
export interface Lists {
  resources: string;
  scopes: string;
  elements: string;
}

/** What a part takes as JSON. */
export const jsonBytes = (_: Uint8Array, { start, end }: Slice): number => end - start;

/**
 * The places of the spans, log records or metrics in a request. Parsing 64 MB at once would hold the event loop for half a
 * second; what was found one by one is parsed one by one.
 */
export function* jsonElements(bytes: Uint8Array, lists: Lists): Elements {
  const cursor = cursorAt(bytes, 0);
  for (const key of keysOf(cursor)) {
    if (key !== lists.resources || !isAtList(cursor, key)) yield* skipValue(cursor);
    else for (const _ of itemsOf(cursor)) yield* elementsOfResource(cursor, lists);
  }
  expectEnd(cursor);
}

function* elementsOfResource(cursor: Cursor, lists: Lists): Elements {
  yield null;
  if (!isAtItem(cursor, lists.resources)) return yield* skipValue(cursor);
  const { at } = cursor;
  let resource: Slice | null | undefined;
  for (const key of keysOf(cursor)) {
    if (key === "resource") resource = yield* skipValue(cursor);
    else if (key !== lists.scopes || !isAtList(cursor, key)) yield* skipValue(cursor);
    else {
      if (resource === undefined) resource = yield* lookAhead(cursor, at, "resource");
      for (const _ of itemsOf(cursor)) yield* elementsOfScope(cursor, lists, resource);
    }
  }
}

function* elementsOfScope(cursor: Cursor, { scopes, elements }: Lists, resource: Slice | null): Elements {
  yield null;
  if (!isAtItem(cursor, scopes)) return yield* skipValue(cursor);
  const { at } = cursor;
  let scope: Slice | null | undefined;
  for (const key of keysOf(cursor)) {
    if (key === "scope") scope = yield* skipValue(cursor);
    else if (key !== elements || !isAtList(cursor, key)) yield* skipValue(cursor);
    else {
      if (scope === undefined) scope = yield* lookAhead(cursor, at, "scope");
      for (const _ of itemsOf(cursor)) yield { ...(yield* skipValue(cursor)), resource, scope };
    }
  }
}

/** The place of a member that may come later in the object; null when there is none. */
function* lookAhead({ bytes }: Cursor, at: number, wanted: string): Generator<null, Slice | null> {
  const ahead = cursorAt(bytes, at);
  for (const key of keysOf(ahead)) {
    const slice = yield* skipValue(ahead);
    if (key === wanted) return slice;
  }
  return null;
}

/** An attribute has four values and commas, an event seven. JSON.parse takes 0.5 s for the five million that 10 MB may have. */
const MAX_JSON_VALUES = 8 * MAX_VALUES;

function parseSlice(bytes: Buffer, { start, end }: Slice, reading: Reading): unknown {
  const text = bytes.toString("utf8", start, end);
  const { values, hasLongName } = countJson(text);
  if (values > MAX_JSON_VALUES) addProblem(reading, "too_large", TOO_MANY_VALUES);
  if (hasLongName) addProblem(reading, "too_large", LONG_NAME);
  return reading.problem ? null : JSON.parse(text.replace(LONG_NUMBERS, '$1"$2"'));
}

/**
 * The members of OpenTelemetry that hold whole numbers which JavaScript would round: they become texts. Quotes within a text
 * have a backslash before them, so this finds members only. A reviver would be called for each value, which takes seconds.
 */
const LONG_NUMBERS =
  /("(?:intValue|(?:start|end)TimeUnixNano|(?:observedT|t)imeUnixNano)"\s*:\s*)(-?[1-9]\d{15,400})(?![\d.eE])/g;

export function readResource(bytes: Buffer, slice: Slice, reading: Reading): OtlpAttributes {
  return attributesOf(membersOf(parseSlice(bytes, slice, reading))?.attributes, "attributes", reading);
}

export function readScope(bytes: Buffer, slice: Slice, reading: Reading): OtlpScope {
  const scope = membersOf(parseSlice(bytes, slice, reading)) ?? {};
  return {
    name: textOf(scope.name, reading) || null,
    version: textOf(scope.version, reading) || null,
    attributes: attributesOf(scope.attributes, "attributes", reading),
  };
}

export function readSpan(bytes: Buffer, slice: Slice, reading: Reading): RawSpan {
  const span = membersOf(parseSlice(bytes, slice, reading));
  if (!span) addProblem(reading, "malformed", "is not an object");
  return toRawSpan(span ?? {}, reading);
}

/** Events or links, each of which counts as a value of the span. */
const countedOf = (value: unknown, name: string, reading: Reading): unknown[] =>
  listOf(value, name, reading).filter(() => mayRead(reading, 1));

function toRawSpan(span: JsonMembers, reading: Reading): RawSpan {
  const status = membersOf(span.status) ?? {};
  return {
    traceId: idOf(span.traceId),
    spanId: idOf(span.spanId),
    parentSpanId: idOf(span.parentSpanId),
    traceState: textOf(span.traceState, reading),
    flags: numberOf(span.flags),
    name: textOf(span.name, reading),
    kind: numberOf(span.kind),
    startNanos: nanosOf(span.startTimeUnixNano),
    endNanos: nanosOf(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes, "attributes", reading),
    events: countedOf(span.events, "events", reading).map((item) => {
      const event = membersOf(item) ?? {};
      return {
        name: textOf(event.name, reading),
        time: toIsoTime(nanosOf(event.timeUnixNano)),
        attributes: attributesOf(event.attributes, "attributes", reading),
      };
    }),
    links: countedOf(span.links, "links", reading).map((item) => {
      const link = membersOf(item) ?? {};
      return {
        traceId: idOf(link.traceId),
        spanId: idOf(link.spanId),
        traceState: textOf(link.traceState, reading) || null,
        attributes: attributesOf(link.attributes, "attributes", reading),
      };
    }),
    statusCode: numberOf(status.code),
    statusMessage: textOf(status.message, reading),
    isLogRecord: "timeUnixNano" in span || "observedTimeUnixNano" in span || "severityNumber" in span,
  };
}

export function readLogRecord(bytes: Buffer, slice: Slice, reading: Reading): RawLogRecord {
  const record = membersOf(parseSlice(bytes, slice, reading)) ?? {};
  return {
    traceId: idOf(record.traceId),
    spanId: idOf(record.spanId),
    eventName: textOf(record.eventName, reading),
    timeNanos: nanosOf(record.timeUnixNano),
    observedNanos: nanosOf(record.observedTimeUnixNano),
    body: anyValueOf(record.body, reading, 1),
    attributes: attributesOf(record.attributes, "attributes", reading),
  };
}

const POINTS_OF_METRICS = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"];

/** How many data points a metric has; one with too many values counts as one. */
export function countPoints(bytes: Buffer, slice: Slice): number {
  const reading = newReading();
  const metric = membersOf(parseSlice(bytes, slice, reading)) ?? {};
  if (reading.problem) return 1;
  const lists = POINTS_OF_METRICS.map((kind) => membersOf(metric[kind])?.dataPoints);
  return lists.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0);
}
