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

/** How many bytes a text takes as JSON in UTF-8, without its quotation marks. */
export function jsonBytesOf(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += CHARACTERS_AT_ONCE) {
    const { written } = encoder.encodeInto(text.slice(at, at + CHARACTERS_AT_ONCE), buffer);
    bytes += written;
    for (let n = 0; n < written; n++) bytes += longerInJson[buffer[n]!]!;
  }
  return bytes;
}

/** The same, which measures a long text once, however often it is repeated. */
export function createJsonBytes(): (text: string) => number {
  const known = new Map<string, number>();
  return (text) => {
    if (text.length < MIN_REMEMBERED_CHARACTERS) return jsonBytesOf(text);
    const bytes = known.get(text) ?? jsonBytesOf(text);
    known.set(text, bytes);
    return bytes;
  };
}
