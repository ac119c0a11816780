/** The quotation marks, the colon and the comma around a member. */
const PUNCTUATION = 4;

/** About how many characters a value takes as JSON; it stops looking beyond `max`. */
export function jsonSize(root: unknown, max: number): number {
  const pending: unknown[] = [root];
  let characters = 0;
  while (pending.length > 0 && characters <= max) {
    const value = pending.pop();
    characters += PUNCTUATION;
    if (typeof value === "string") characters += value.length;
    else if (Array.isArray(value)) for (const item of value) pending.push(item);
    else if (typeof value === "object" && value !== null)
      for (const key in value) {
        characters += key.length;
        pending.push((value as Record<string, unknown>)[key]);
      }
  }
  return characters;
}
