import { jsonSize } from "./jsonSize.ts";

/** What is written in one piece: up to 2 ms for numbers that V8 writes slowly. */
const MAX_PIECE = 128 * 1024;
const ITEMS_OF_PIECE = 500;

const written = new WeakMap<object, string>();

/** Keeps the JSON of a value, which must not change any more, for `jsonOf`. */
export const keepJson = (value: object, text: string): void => void written.set(value, text);

/** The JSON of a value, written now unless it is kept. */
export const jsonOf = (value: unknown): string => written.get(value as object) ?? JSON.stringify(value);

/**
 * Writes a value that has been read from JSON as JSON.stringify does, and yields between pieces: 400,000 numbers in one turn of the
 * event loop had others wait for 1.4 s.
 */
export function* writeJson(value: unknown): Generator<undefined, string> {
  if (typeof value !== "object" || value === null || jsonSize(value, MAX_PIECE) <= MAX_PIECE)
    return JSON.stringify(value) ?? "null";
  return Array.isArray(value) ? yield* writeList(value) : yield* writeObject(value);
}

function* writeList(items: unknown[]): Generator<undefined, string> {
  const texts: string[] = [];
  for (let from = 0; from < items.length; from += ITEMS_OF_PIECE) {
    const some = items.slice(from, from + ITEMS_OF_PIECE);
    if (jsonSize(some, MAX_PIECE) <= MAX_PIECE) texts.push(JSON.stringify(some).slice(1, -1));
    else for (const item of some) texts.push(yield* writeJson(item));
    yield;
  }
  return `[${texts.join()}]`;
}

function* writeObject(object: object): Generator<undefined, string> {
  const texts: string[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (value !== undefined) texts.push(`${JSON.stringify(name)}:${yield* writeJson(value)}`);
    yield;
  }
  return `{${texts.join()}}`;
}
