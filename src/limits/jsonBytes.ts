import { keyOfText } from "./longTexts.ts";

/** The most bytes that a character of a text takes as JSON, as \\u0001 does. */
export const MAX_ESCAPED_BYTES = 6;

/** By how much JSON is longer for each byte of a text in UTF-8. */
export const longerInJson = Uint8Array.from(
  { length: 256 },
  (_, byte) => JSON.stringify(String.fromCharCode(byte)).length - 3,
);

const CHARACTERS_AT_ONCE = 16 * 1024;
const MIN_REMEMBERED_CHARACTERS = 1024;
const encoder = new TextEncoder();
const buffer = new Uint8Array(3 * CHARACTERS_AT_ONCE);

/** For a shorter text the call of the encoder takes longer than a loop over its characters. */
const MIN_ENCODED_CHARACTERS = 24;
const MAX_ASCII = 0x7f;

/** How many bytes a text takes as JSON in UTF-8, without its quotation marks. */
export function jsonBytesOf(text: string): number {
  return (text.length < MIN_ENCODED_CHARACTERS ? bytesOfAscii(text) : undefined) ?? bytesOfEncoded(text);
}

/** Undefined where a character is not of ASCII. */
function bytesOfAscii(text: string): number | undefined {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > MAX_ASCII) return undefined;
    bytes += longerInJson[code]!;
  }
  return bytes;
}

function bytesOfEncoded(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += CHARACTERS_AT_ONCE) {
    const { written } = encoder.encodeInto(text.slice(at, at + CHARACTERS_AT_ONCE), buffer);
    bytes += written;
    for (let n = 0; n < written; n++) bytes += longerInJson[buffer[n]!]!;
  }
  return bytes;
}

/** A text with one of these takes two bytes in memory for each of its characters, and twice as long to write. */
const BEYOND_LATIN_1 = /[\u0100-\uffff]/;

export const isWide = (text: string): boolean => BEYOND_LATIN_1.test(text);

/** The same for a part of a wide text: two bytes for each character, where that is more. */
function wideJsonBytesOf(text: string): number {
  const bytes = jsonBytesOf(text);
  const characters = bytes - (Buffer.byteLength(text) - text.length);
  return Math.max(bytes, 2 * characters);
}

/** Measures texts as JSON, in a wide text or not; a long one once, however often it is repeated. */
export function createJsonBytes(isInWideText = false): (text: string) => number {
  const known = new Map<string, number>();
  const measure = isInWideText ? wideJsonBytesOf : jsonBytesOf;
  return (text) => {
    if (text.length < MIN_REMEMBERED_CHARACTERS) return measure(text);
    const key = keyOfText(text);
    const bytes = known.get(key) ?? measure(text);
    known.set(key, bytes);
    return bytes;
  };
}
