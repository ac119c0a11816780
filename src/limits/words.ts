/**
 * The words of a text, split as by SQLite's tokenizer `unicode61`, so that all databases find the same logs: runs of letters
 * and digits, with the accents that follow a letter, in lower case.
 */
export function wordsIn(text: string): string[] {
  // `toLowerCase` makes ς of a Σ at the end of a word, and σ elsewhere.
  return text.toLowerCase().replaceAll("ς", "σ").match(WORD) ?? [];
}

export const LETTER = "\\p{L}\\p{N}\\p{Co}";
export const ACCENTS =
  "\\u0300-\\u0304\\u0306-\\u030C\\u030F\\u0311\\u031B\\u0323-\\u0328\\u032D\\u032E\\u0330\\u0331";
export const WORD = new RegExp(`[${LETTER}][${LETTER}${ACCENTS}]*`, "gu");
