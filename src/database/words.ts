/** With more, one huge log would block all other requests. */
export const MAX_INDEXED_CHARACTERS = 100_000;

/** The first 100,000 characters of the texts and numbers in a JSON value, one per line, without its keys. */
export function textsOf(value: unknown): string {
  const texts: string[] = [];
  let length = 0;
  const visit = (part: unknown): void => {
    if (length > 2 * MAX_INDEXED_CHARACTERS) return; // enough, even if every character is a surrogate pair
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
  if (text.length <= MAX_INDEXED_CHARACTERS) return text;
  return [...text.slice(0, 2 * MAX_INDEXED_CHARACTERS)].slice(0, MAX_INDEXED_CHARACTERS).join("");
}

/** Words that must follow each other; the last one is a prefix if `isPrefix`. */
export interface Phrase {
  text: string;
  isPrefix: boolean;
}

/** The phrases of a search: the texts between double quotes, and each other word by itself. A trailing * marks a prefix. */
export function phrasesOf(search: string): Phrase[] {
  return [...search.matchAll(/"([^"]*)"?(\*?)|([^\s"]+)/g)].flatMap(([, quoted, star, word]) => {
    const text = quoted ?? word!;
    if (!/[\p{L}\p{N}]/u.test(text)) return [];
    return [{ text, isPrefix: star === "*" || text.endsWith("*") }];
  });
}
