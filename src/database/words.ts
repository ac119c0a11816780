/** More would let one huge log hold up everybody. */
export const INDEXED_CHARACTERS = 100_000;

/**
 * The words of a text as SQLite's tokenizer `unicode61` has them, so that every database finds the same: runs of letters
 * and digits, with the accents that follow a letter, in small letters.
 */
export function wordsIn(text: string): string[] {
  // Only at the end of a word Σ would become ς.
  return text.toLowerCase().replaceAll("ς", "σ").match(WORD) ?? [];
}

const LETTER = "\\p{L}\\p{N}\\p{Co}";
const ACCENTS =
  "\\u0300-\\u0304\\u0306-\\u030C\\u030F\\u0311\\u031B\\u0323-\\u0328\\u032D\\u032E\\u0330\\u0331";
const WORD = new RegExp(`[${LETTER}][${LETTER}${ACCENTS}]*`, "gu");

/** The texts and numbers inside a JSON value, one a line, of its first 100,000 characters; keys are no part of it. */
export function textsOf(value: unknown): string {
  const texts: string[] = [];
  let length = 0;
  const visit = (part: unknown): void => {
    if (length > 2 * INDEXED_CHARACTERS) return; // enough, even if every character is a surrogate pair
    if (typeof part === "string" || typeof part === "number") {
      const text = String(part);
      texts.push(text);
      length += text.length + 1;
    } else if (typeof part === "object" && part !== null) {
      for (const member of Object.values(part)) visit(member);
    }
  };
  visit(value);
  const text = texts.join("\n");
  if (text.length <= INDEXED_CHARACTERS) return text;
  return [...text.slice(0, 2 * INDEXED_CHARACTERS)].slice(0, INDEXED_CHARACTERS).join("");
}

/** What a search asks for: words that must stand in this order; the last may go on where `isBeginning`. */
export interface Phrase {
  text: string;
  isBeginning: boolean;
}

/**
 * The phrases of a search: what stands between double quotes, and each of the other words by itself. What ends in * may
 * go on.
 */
export function phrasesOf(search: string): Phrase[] {
  return [...search.matchAll(/"([^"]*)"?(\*?)|([^\s"]+)/g)].flatMap(([, quoted, star, word]) => {
    const text = quoted ?? word!;
    if (!/[\p{L}\p{N}]/u.test(text)) return [];
    return [{ text, isBeginning: star === "*" || text.endsWith("*") }];
  });
}
