/** Characters that a terminal acts on, and those that change the order in which text is shown. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Makes a caller's text safe for a line on a terminal: shows escape sequences, line breaks and the like as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Like `printableLines`, but keeps tabs, for text such as code. */
export function printableText(text: string): string {
  return text.split("\t").map(printableLines).join("\t");
}

/** Like `printable`, for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
