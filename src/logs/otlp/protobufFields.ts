import { PbfReader } from "pbf";
import { mayReadField, type Reading } from "./attributes.ts";
import type { Slice } from "./decoded.ts";

/** Wire types: how the value of a field is encoded. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;

const damaged = () => new Error("a message is cut or damaged");

export function readerAt(bytes: Uint8Array, start: number): PbfReader {
  const reader = new PbfReader(bytes);
  reader.pos = start;
  return reader;
}

/**
 * Calls `read` with each field of the message that ends at `end`, as long as `reading` allows more, which is null for a metric. A
 * field that `read` does not read is skipped, as unknown fields and those of another wire type have to be. pbf checks no
 * lengths itself.
 */
export function eachField(
  reader: PbfReader,
  end: number,
  reading: Reading | null,
  read: (field: number, wireType: number) => void,
): void {
  for (let field = reader.nextField(end); field !== 0; field = reader.nextField(end)) {
    if (reading && !mayReadField(reading)) {
      reader.pos = end;
      return;
    }
    const start = reader.pos;
    read(field, reader.type);
    if (reader.pos === start) skipNumber(reader);
  }
  if (reader.pos !== end) throw damaged();
}

/** Passes over a number of variable length, which has at most ten bytes: pbf would skip 64 MB of one, in 0.1 s for each reading. */
function skipNumber(reader: PbfReader): void {
  if (reader.type === VARINT) reader.readVarint();
}

/** The end of the text, bytes or message at which the reader stands; the reader moves to its start. */
export function endOfBytes(reader: PbfReader, end: number): number {
  const length = reader.readVarint();
  const valueEnd = reader.pos + length;
  if (valueEnd > end) throw damaged();
  return valueEnd;
}

const BYTES_BETWEEN_PAUSES = 256 * 1024;

/** The places of the messages of one field within a message; null where others may have a turn. */
export function* messagesIn(
  bytes: Uint8Array,
  { start, end }: Slice,
  wanted: number,
): Generator<Slice | null> {
  const reader = readerAt(bytes, start);
  let pauseAt = start + BYTES_BETWEEN_PAUSES;
  for (let field = reader.nextField(end); field !== 0; field = reader.nextField(end)) {
    if (reader.pos >= pauseAt) {
      pauseAt = reader.pos + BYTES_BETWEEN_PAUSES;
      yield null;
    }
    skipNumber(reader);
    if (reader.type !== BYTES) continue;
    const valueEnd = endOfBytes(reader, end);
    const slice = { start: reader.pos, end: valueEnd };
    reader.pos = valueEnd;
    if (field === wanted) yield slice;
  }
  if (reader.pos !== end) throw damaged();
}

/** An unsigned number of 64 bits. */
export function readFixed64(reader: PbfReader): bigint {
  const value = reader.dataView.getBigUint64(reader.pos, true);
  reader.pos += 8;
  return value;
}

const BYTES_OF_PART = 4;
const BITS_OF_PART = 28;

/** A signed number of 64 bits, which pbf rounds when it is large. */
export function readInt64(reader: PbfReader): bigint | number {
  const start = reader.pos;
  const rounded = reader.readVarint(true);
  if (Number.isSafeInteger(rounded)) return rounded;
  const parts = [0, 0, 0];
  for (let at = reader.pos - 1; at >= start; at--) {
    const part = Math.floor((at - start) / BYTES_OF_PART);
    parts[part] = parts[part]! * 128 + (reader.buf[at]! & 0x7f);
  }
  const value = parts.reduceRight((sum, part) => (sum << BigInt(BITS_OF_PART)) | BigInt(part), 0n);
  return BigInt.asIntN(64, value);
}
