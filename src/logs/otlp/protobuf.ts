import type { PbfReader } from "pbf";
import { longerInJson, MAX_ESCAPED_BYTES } from "../../limits/jsonBytes.ts";
import { mayRead, type Reading } from "./attributes.ts";
import { MAX_SPAN_BYTES } from "./bounds.ts";
import { type RawSpan, toIsoTime } from "./checkSpan.ts";
import type { Elements, Slice } from "./decoded.ts";
import type { RawLogRecord } from "./logRecord.ts";
import {
  BYTES,
  eachField,
  endOfBytes,
  FIXED32,
  FIXED64,
  messagesIn,
  readerAt,
  readFixed64,
  VARINT,
} from "./protobufFields.ts";
import { readAttribute, readText, readValue } from "./protobufValues.ts";
import type { OtlpAttributes, OtlpScope, OtlpSpan } from "./span.ts";

/** The spans, log records or metrics of a request: all three kinds nest in the same fields. */
export function* protobufElements(bytes: Uint8Array): Elements {
  for (const resourceSpans of messagesIn(bytes, { start: 0, end: bytes.length }, 1)) {
    yield null;
    if (resourceSpans === null) continue;
    const resource = yield* lastMessage(bytes, resourceSpans, 1);
    for (const scopeSpans of messagesIn(bytes, resourceSpans, 2)) {
      yield null;
      if (scopeSpans === null) continue;
      const scope = yield* lastMessage(bytes, scopeSpans, 1);
      for (const span of messagesIn(bytes, scopeSpans, 2)) yield span && { ...span, resource, scope };
    }
  }
}

function* lastMessage(bytes: Uint8Array, within: Slice, field: number): Generator<null, Slice | null> {
  let last: Slice | null = null;
  for (const slice of messagesIn(bytes, within, field)) {
    if (slice === null) yield null;
    else last = slice;
  }
  return last;
}

/** What a part takes as JSON, about; exactly its length where even escapes leave it small. */
export function jsonBytes(bytes: Uint8Array, { start, end }: Slice): number {
  const length = end - start;
  if (length * MAX_ESCAPED_BYTES <= MAX_SPAN_BYTES) return length;
  let size = length;
  for (let at = start; at < end; at++) size += longerInJson[bytes[at]!]!;
  return size;
}

export function readResource(bytes: Uint8Array, { start, end }: Slice, reading: Reading): OtlpAttributes {
  const attributes: OtlpAttributes = {};
  const reader = readerAt(bytes, start);
  eachField(reader, end, reading, (field, type) => {
    if (field === 1 && type === BYTES)
      readAttribute(reader, endOfBytes(reader, end), { target: attributes, reading });
  });
  return attributes;
}

export function readScope(bytes: Uint8Array, { start, end }: Slice, reading: Reading): OtlpScope {
  const scope: OtlpScope = { name: null, version: null, attributes: {} };
  const reader = readerAt(bytes, start);
  eachField(reader, end, reading, (field, type) => {
    if (type !== BYTES) return;
    if (field === 1) scope.name = readText(reader, end, reading) || null;
    else if (field === 2) scope.version = readText(reader, end, reading) || null;
    else if (field === 3)
      readAttribute(reader, endOfBytes(reader, end), { target: scope.attributes, reading });
  });
  return scope;
}

export function readSpan(bytes: Uint8Array, { start, end }: Slice, reading: Reading): RawSpan {
  const span = newRawSpan();
  const reader = readerAt(bytes, start);
  eachField(reader, end, reading, (field, type) => {
    // The fields of a log record have the same numbers: after its first one, the others are not read as those of a span.
    if ((field === 1 && type === FIXED64) || (field === 2 && type === VARINT)) span.isLogRecord = true;
    if (span.isLogRecord) return;
    if (type === BYTES) readLongField(reader, end, { span, field, reading });
    else if (field === 7 && type === FIXED64) span.startNanos = readFixed64(reader);
    else if (field === 8 && type === FIXED64) span.endNanos = readFixed64(reader);
    else if (field === 6 && type === VARINT) span.kind = reader.readVarint();
    else if (field === 16 && type === FIXED32) span.flags = reader.readFixed32();
  });
  return span;
}

const newRawSpan = (): RawSpan => ({
  traceId: "",
  spanId: "",
  parentSpanId: "",
  traceState: "",
  flags: 0,
  name: "",
  kind: 0,
  startNanos: null,
  endNanos: null,
  attributes: {},
  events: [],
  links: [],
  statusCode: 0,
  statusMessage: "",
  isLogRecord: false,
});

/** A field of variable length. */
function readLongField(
  reader: PbfReader,
  end: number,
  { span, field, reading }: { span: RawSpan; field: number; reading: Reading },
): void {
  if (field === 9) readAttribute(reader, endOfBytes(reader, end), { target: span.attributes, reading });
  else if (field === 1) span.traceId = readId(reader);
  else if (field === 2) span.spanId = readId(reader);
  else if (field === 4) span.parentSpanId = readId(reader);
  else if (field === 3) span.traceState = readText(reader, end, reading);
  else if (field === 5) span.name = readText(reader, end, reading);
  else if (field === 11) readEvent(reader, endOfBytes(reader, end), span, reading);
  else if (field === 13) readLink(reader, endOfBytes(reader, end), span, reading);
  else if (field === 15) readStatus(reader, endOfBytes(reader, end), span, reading);
}

const MAX_ID_BYTES = 64;

const readId = (reader: PbfReader): string =>
  Buffer.from(reader.readBytes().subarray(0, MAX_ID_BYTES)).toString("hex");

function readEvent(reader: PbfReader, end: number, { events }: RawSpan, reading: Reading): void {
  if (!mayRead(reading, 1)) {
    reader.pos = end;
    return;
  }
  const event: OtlpSpan["events"][number] = { name: "", time: null, attributes: {} };
  let nanos: bigint | null = null;
  eachField(reader, end, reading, (field, type) => {
    if (field === 1 && type === FIXED64) nanos = readFixed64(reader);
    else if (field === 2 && type === BYTES) event.name = readText(reader, end, reading);
    else if (field === 3 && type === BYTES)
      readAttribute(reader, endOfBytes(reader, end), { target: event.attributes, reading });
  });
  event.time = toIsoTime(nanos);
  events.push(event);
}

function readLink(reader: PbfReader, end: number, { links }: RawSpan, reading: Reading): void {
  if (!mayRead(reading, 1)) {
    reader.pos = end;
    return;
  }
  const link: OtlpSpan["links"][number] = { traceId: "", spanId: "", traceState: null, attributes: {} };
  eachField(reader, end, reading, (field, type) => {
    if (type !== BYTES) return;
    if (field === 1) link.traceId = readId(reader);
    else if (field === 2) link.spanId = readId(reader);
    else if (field === 3) link.traceState = readText(reader, end, reading) || null;
    else if (field === 4)
      readAttribute(reader, endOfBytes(reader, end), { target: link.attributes, reading });
  });
  links.push(link);
}

function readStatus(reader: PbfReader, end: number, span: RawSpan, reading: Reading): void {
  eachField(reader, end, reading, (field, type) => {
    if (field === 2 && type === BYTES) span.statusMessage = readText(reader, end, reading);
    else if (field === 3 && type === VARINT) span.statusCode = reader.readVarint();
  });
}

export function readLogRecord(bytes: Uint8Array, { start, end }: Slice, reading: Reading): RawLogRecord {
  const record: RawLogRecord = {
    ...{ traceId: "", spanId: "", eventName: "", timeNanos: null, observedNanos: null, body: null },
    attributes: {},
  };
  const reader = readerAt(bytes, start);
  eachField(reader, end, reading, (field, type) => {
    if (field === 1 && type === FIXED64) record.timeNanos = readFixed64(reader);
    else if (field === 11 && type === FIXED64) record.observedNanos = readFixed64(reader);
    if (type !== BYTES) return;
    if (field === 5) record.body = readValue(reader, endOfBytes(reader, end), reading, 1);
    else if (field === 6)
      readAttribute(reader, endOfBytes(reader, end), { target: record.attributes, reading });
    else if (field === 9) record.traceId = readId(reader);
    else if (field === 10) record.spanId = readId(reader);
    else if (field === 12) record.eventName = readText(reader, end, reading);
  });
  return record;
}

const POINTS_OF_METRICS = [5, 7, 9, 10, 11];

/** How many data points a metric has. */
export function countPoints(bytes: Uint8Array, { start, end }: Slice): number {
  let count = 0;
  const reader = readerAt(bytes, start);
  eachField(reader, end, null, (kind, kindType) => {
    if (kindType !== BYTES || !POINTS_OF_METRICS.includes(kind)) return;
    eachField(reader, endOfBytes(reader, end), null, (field, type) => {
      if (field === 1 && type === BYTES) count += 1;
    });
  });
  return count;
}
