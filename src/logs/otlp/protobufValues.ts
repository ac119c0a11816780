import type { PbfReader } from "pbf";
import {
  mayRead,
  type Reading,
  setAttribute,
  storableInteger,
  storableNumber,
  storableText,
} from "./attributes.ts";
import { BYTES, eachField, endOfBytes, FIXED64, readInt64, VARINT } from "./protobufFields.ts";
import type { OtlpAttributes } from "./span.ts";

/** The decoder of pbf drops a byte order mark at the start of a text. For shorter texts, pbf uses faster code without it. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const MIN_DECODED_BYTES = 12;
const REPLACEMENT = "\uFFFD";

/** The text at which the reader stands, within a message that ends at `end`. */
export function readText(reader: PbfReader, end: number, reading: Reading): string {
  const start = reader.pos;
  const valueEnd = endOfBytes(reader, end); // or else a wrong length would decode the rest of the request, for each text
  if (valueEnd - reader.pos < MIN_DECODED_BYTES) {
    reader.pos = start;
    return storableText(reader.readString(), reading);
  }
  const text = utf8.decode(reader.buf.subarray(reader.pos, valueEnd));
  if (text.includes(REPLACEMENT)) reading.addedBytes += Buffer.byteLength(text) - (valueEnd - reader.pos);
  reader.pos = valueEnd;
  return storableText(text, reading);
}

/** Adds the KeyValue that ends at `end`. */
export function readAttribute(
  reader: PbfReader,
  end: number,
  { target, reading, depth = 1 }: { target: OtlpAttributes; reading: Reading; depth?: number },
): void {
  if (reading.problem) {
    reader.pos = end;
    return;
  }
  let key = "";
  let isInDictionary = false; // which only profiles have
  let value: unknown = null;
  eachField(reader, end, reading, (field, type) => {
    if (field === 3) isInDictionary = true;
    if (type !== BYTES) return;
    if (field === 1) key = readText(reader, end, reading);
    else if (field === 2) value = readValue(reader, endOfBytes(reader, end), reading, depth);
  });
  if (!isInDictionary) setAttribute(target, key, value, reading);
}

/** The AnyValue that ends at `end`; null when it is empty. */
export function readValue(reader: PbfReader, end: number, reading: Reading, depth: number): unknown {
  let value: unknown = null;
  if (!mayRead(reading, depth)) {
    reader.pos = end;
    return null;
  }
  eachField(reader, end, reading, (field, type) => {
    if (type === BYTES) value = readLongValue(reader, end, { field, reading, depth, value });
    else if (field === 2 && type === VARINT) value = reader.readBoolean();
    else if (field === 3 && type === VARINT) value = toInteger(readInt64(reader));
    else if (field === 4 && type === FIXED64) value = storableNumber(reader.readDouble());
  });
  return value;
}

const toInteger = (value: bigint | number) => (typeof value === "bigint" ? storableInteger(value) : value);

/** A value of variable length; the value so far when the field is unknown. */
function readLongValue(
  reader: PbfReader,
  end: number,
  { field, reading, depth, value }: { field: number; reading: Reading; depth: number; value: unknown },
): unknown {
  if (field === 1) return readText(reader, end, reading);
  if (field === 5) return readList(reader, endOfBytes(reader, end), reading, depth);
  if (field === 6) return readObject(reader, endOfBytes(reader, end), reading, depth);
  if (field === 7) return readBase64(reader, end);
  return value;
}

function readBase64(reader: PbfReader, end: number): string {
  const valueEnd = endOfBytes(reader, end);
  const bytes = reader.buf.subarray(reader.pos, valueEnd);
  reader.pos = valueEnd;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}

function readList(reader: PbfReader, end: number, reading: Reading, depth: number): unknown[] {
  const list: unknown[] = [];
  eachField(reader, end, reading, (field, type) => {
    if (field === 1 && type === BYTES)
      list.push(readValue(reader, endOfBytes(reader, end), reading, depth + 1));
  });
  return list;
}

function readObject(reader: PbfReader, end: number, reading: Reading, depth: number): OtlpAttributes {
  const target: OtlpAttributes = {};
  eachField(reader, end, reading, (field, type) => {
    if (field === 1 && type === BYTES)
      readAttribute(reader, endOfBytes(reader, end), { target, reading, depth: depth + 1 });
  });
  return target;
}
