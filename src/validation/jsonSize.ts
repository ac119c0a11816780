/** Writing a value as text takes about as long as so many characters of a string. */
const VALUE_WEIGHT = 32;

/**
 * What it takes to write a value as JSON, in characters of a string; it stops looking beyond `max`. Never less than the
 * length of a value that is mostly text.
 */
export function jsonSize(root: unknown, max: number): number {
  const pending: unknown[] = [root];
  let size = 0;
  while (pending.length > 0 && size <= max) {
    const value = pending.pop();
    size += VALUE_WEIGHT;
    if (typeof value === "string") size += value.length;
    else if (Array.isArray(value)) for (const item of value) pending.push(item);
    else if (typeof value === "object" && value !== null)
      for (const key in value) {
        size += key.length;
        pending.push((value as Record<string, unknown>)[key]);
      }
  }
  return size;
}
