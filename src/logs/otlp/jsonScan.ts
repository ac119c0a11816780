import type { Slice } from "./decoded.ts";

/** The bytes are not the JSON that they should be. */
export const NOT_JSON = "NOT_JSON";

/** A place in a JSON text. It moves over values without parsing them. */
export interface Cursor {
  bytes: Uint8Array;
  at: number;
  /** The place from which on the next value gives others a turn. */
  pauseAt: number;
}

const BYTES_BETWEEN_PAUSES = 256 * 1024;
const MAX_KEY_BYTES = 64;
/** A longer key, word or space is no OpenTelemetry. Moving over it would give nobody a turn. */
const MAX_TOKEN_BYTES = 64 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;
const LETTER_N = 0x6e;

export const cursorAt = (bytes: Uint8Array, at: number): Cursor => ({
  bytes,
  at,
  pauseAt: at + BYTES_BETWEEN_PAUSES,
});

const notJson = (at: number) => new Error(`not valid JSON at position ${at}`, { cause: NOT_JSON });

/** The first byte of what comes next; undefined at the end. */
function peek(cursor: Cursor): number | undefined {
  const start = cursor.at;
  while (isSpace(cursor.bytes[cursor.at])) {
    cursor.at += 1;
    checkLength(cursor, start);
  }
  return cursor.bytes[cursor.at];
}

function checkLength({ at }: Cursor, start: number): void {
  if (at - start > MAX_TOKEN_BYTES) throw notJson(start);
}

const isSpace = (byte: number | undefined) =>
  byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

export const isAtList = (cursor: Cursor, name: string): boolean =>
  isAt(cursor, OPENING_BRACKET, `"${name}" is not a list`);
export const isAtItem = (cursor: Cursor, list: string): boolean =>
  isAt(cursor, OPENING_BRACE, `"${list}" has an item that is not an object`);

/** Whether what should come next is there; null counts as absent, and anything else throws. */
function isAt(cursor: Cursor, wanted: number, otherwise: string): boolean {
  const next = peek(cursor);
  if (next === wanted || next === LETTER_N) return next === wanted;
  throw new Error(`${otherwise} at position ${cursor.at}`, { cause: NOT_JSON });
}

/** Throws unless nothing follows. */
export function expectEnd(cursor: Cursor): void {
  if (peek(cursor) !== undefined) throw notJson(cursor.at);
}

/** The keys of the object at the cursor. The caller moves over the value of each. */
export function* keysOf(cursor: Cursor): Generator<string> {
  if (peek(cursor) !== OPENING_BRACE) throw notJson(cursor.at);
  for (const _ of partsUntil(cursor, CLOSING_BRACE)) {
    if (peek(cursor) !== QUOTE) throw notJson(cursor.at);
    cursor.at += 1;
    const start = cursor.at;
    while (!moveInString(cursor)) checkLength(cursor, start);
    const key = keyIn(cursor, start);
    if (peek(cursor) !== COLON) throw notJson(cursor.at);
    cursor.at += 1;
    yield key;
  }
}

/** An empty text stands for a key that is too long to be one of ours, or has escapes. */
function keyIn({ bytes, at }: Cursor, start: number): string {
  const end = at - 1;
  return end - start > MAX_KEY_BYTES ? "" : String.fromCharCode(...bytes.subarray(start, end));
}

/** Stops at each item of the list at the cursor. The caller moves over each. */
export const itemsOf = (cursor: Cursor): Generator<void> => partsUntil(cursor, CLOSING_BRACKET);

function* partsUntil(cursor: Cursor, closing: number): Generator<void> {
  cursor.at += 1;
  let next = peek(cursor);
  while (next !== closing) {
    yield;
    next = peek(cursor);
    if (next !== COMMA && next !== closing) throw notJson(cursor.at);
    if (next === COMMA) cursor.at += 1;
    if (next === COMMA && peek(cursor) === closing) throw notJson(cursor.at);
  }
  cursor.at += 1;
}

/** Moves over a value, and returns its place. */
export function* skipValue(cursor: Cursor): Generator<null, Slice> {
  const first = peek(cursor);
  const start = cursor.at;
  if (first === QUOTE) yield* skipString(cursor);
  else if (first === OPENING_BRACE || first === OPENING_BRACKET) yield* skipNested(cursor);
  else skipWord(cursor);
  if (cursor.at >= cursor.pauseAt) yield pause(cursor);
  return { start, end: cursor.at };
}

function pause(cursor: Cursor): null {
  cursor.pauseAt = cursor.at + BYTES_BETWEEN_PAUSES;
  return null;
}

/** Counts brackets without matching their kinds: JSON.parse checks the value if it is needed. */
function* skipNested(cursor: Cursor): Generator<null, void> {
  const { bytes } = cursor;
  let depth = 0;
  do {
    const byte = bytes[cursor.at];
    if (byte === undefined) throw notJson(cursor.at);
    if (byte === QUOTE) {
      cursor.at += 1;
      while (!moveInString(cursor)) yield pause(cursor);
      continue;
    }
    if (byte === OPENING_BRACE || byte === OPENING_BRACKET) depth += 1;
    else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth -= 1;
    cursor.at += 1;
    if (cursor.at >= cursor.pauseAt) yield pause(cursor);
  } while (depth > 0);
}

/** Moves over a number, true, false or null. */
function skipWord(cursor: Cursor): void {
  const start = cursor.at;
  for (;;) {
    const byte = cursor.bytes[cursor.at];
    if (byte === undefined || isSpace(byte) || byte === COMMA) break;
    if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) break;
    cursor.at += 1;
    checkLength(cursor, start);
  }
  if (cursor.at === start) throw notJson(start);
}

function* skipString(cursor: Cursor): Generator<null, void> {
  cursor.at += 1;
  while (!moveInString(cursor)) yield pause(cursor);
}

/** Moves on within a string; false before its end, where others may have a turn. */
function moveInString(cursor: Cursor): boolean {
  const { bytes } = cursor;
  for (;;) {
    const quote = bytes.indexOf(QUOTE, cursor.at);
    if (quote < 0) throw notJson(cursor.at);
    let before = quote;
    while (bytes[before - 1] === BACKSLASH) before -= 1;
    cursor.at = quote + 1;
    if ((quote - before) % 2 === 0) return true;
    if (cursor.at >= cursor.pauseAt) return false;
  }
}
