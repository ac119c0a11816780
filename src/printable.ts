/** What a terminal acts on instead of showing it, and what changes the order in which the rest is shown. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** A text that others wrote, for a line on a terminal: escape sequences, line breaks and the like are shown as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same for a text of several lines, with tabs, such as code. */
export function printableText(text: string): string {
  return text.split("\t").map(printableLines).join("\t");
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}
