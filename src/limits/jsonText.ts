/** Values that are written together: up to 2 ms for numbers that V8 writes slowly. */
const VALUES_AT_ONCE = 256;
/** Members between two pauses, each of up to so many values. */
const PAUSED_MEMBERS = 8;
/** The levels of an entry of a page, and of its values. */
const MAX_LEVELS = 5;

const written = new WeakMap<object, string>();

/** Keeps the JSON of a value, which must not change any more, for `jsonOf`. */
export const keepJson = (value: object, text: string): void => void written.set(value, text);

/** The JSON of a value, written now unless it is kept. */
export const jsonOf = (value: unknown): string => written.get(value as object) ?? JSON.stringify(value);

/**
 * Writes plain values and dates as JSON.stringify does, and yields between pieces: 400,000 numbers in one turn of the event loop had
 * others wait for 1.4 s. Takes linear time, however deep a value is.
 */
export function* writeJson(value: unknown, large = new Set<object>()): Generator<undefined, string> {
  if (leftAfter(value, VALUES_AT_ONCE, { large, levels: MAX_LEVELS }) >= 0)
    return JSON.stringify(value) ?? "null";
  return Array.isArray(value) ? yield* writeList(value, large) : yield* writeObject(value as object, large);
}

function* writeList(items: unknown[], large: Set<object>): Generator<undefined, string> {
  let text = "[";
  for (let from = 0; from < items.length; ) {
    const to = endOfPiece(items, from, large);
    if (from > 0) text += ",";
    text +=
      to > from ? JSON.stringify(items.slice(from, to)).slice(1, -1) : yield* writeJson(items[from], large);
    yield;
    from = Math.max(to, from + 1);
  }
  return `${text}]`;
}

/** Where the items end that are written together; `from` when the first one is written in pieces of its own. */
function endOfPiece(items: unknown[], from: number, large: Set<object>): number {
  let left = VALUES_AT_ONCE;
  let to = from;
  for (; to < items.length && left >= 0; to++)
    left = leftAfter(items[to], left, { large, levels: MAX_LEVELS });
  return left < 0 ? to - 1 : to;
}

function* writeObject(object: object, large: Set<object>): Generator<undefined, string> {
  let text = "";
  let members = 0;
  for (const name of Object.keys(object)) {
    const value = (object as Record<string, unknown>)[name];
    if (value === undefined) continue;
    text += `${text && ","}${JSON.stringify(name)}:${yield* writeJson(value, large)}`;
    if (++members % PAUSED_MEMBERS === 0) yield;
  }
  return `{${text}}`;
}

interface Looking {
  /** What has more values than are written together. */
  large: Set<object>;
  levels: number;
}

/**
 * What is left of so many values after those of a value; negative when it has more, or levels that are not looked at. Those above
 * a value each look at it: without these bounds that would take quadratic time.
 */
function leftAfter(value: unknown, values: number, { large, levels }: Looking): number {
  let left = values - 1;
  if (typeof value !== "object" || value === null || value instanceof Date) return left;
  if (levels === 0 || large.has(value)) return -1;
  const inner: unknown[] = Array.isArray(value) ? value : Object.values(value);
  if (inner.length >= VALUES_AT_ONCE) large.add(value);
  if (inner.length > left) return -1;
  const looking = { large, levels: levels - 1 };
  for (let at = 0; at < inner.length && left >= 0; at++) left = leftAfter(inner[at], left, looking);
  return left;
}
