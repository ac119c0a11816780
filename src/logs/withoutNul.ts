/**
 * A text with U+FFFD in the place of each U+0000, which PostgreSQL cannot store, and of each half of a surrogate pair. Five
 * million of them take `replaceAll` 700 ms, and 30 ms this way.
 */
export function withoutNul(text: string): string {
  if (!text.includes("\0")) return text.toWellFormed();
  const bytes = Buffer.from(text, "utf16le");
  for (let at = 0; at < bytes.length; at += 2)
    if (bytes[at] === 0 && bytes[at + 1] === 0) {
      bytes[at] = 0xfd;
      bytes[at + 1] = 0xff;
    }
  return bytes.toString("utf16le").toWellFormed();
}
