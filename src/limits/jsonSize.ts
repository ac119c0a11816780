/**
 * V8 hashes texts of more than 16,383 characters by their length alone. As names of members, or as keys of a Map, those of one length
 * and a common beginning are each compared with all before: 579 names in a body of 9.5 MB had others wait for 0.25 s, and the same from
 * four callers for 1.2 s.
 */
export const MAX_HASHED_CHARACTERS = 16_000;

/** Writing a value as text takes about as long as writing this many characters of a string. */
export const VALUE_WEIGHT = 32;

/** V8 takes up to 6 microseconds to write a number that is not whole, as many as for so many characters. */
export const SLOW_FRACTION = 400;

/** What values count. */
export interface Weights {
  /** The length of a text, else that without escapes. */
  lengthOf?: (text: string) => number;
  /** What a member of an object counts beside its name and its value. */
  member?: number;
  /** What a number that is not whole counts beside: one that V8 writes slowly where nothing else bounds how many there are. */
  fraction?: number;
}

/**
 * The cost of writing a value as JSON, in characters of a string. Stops counting beyond `max`. For a value that is mostly
 * text it is never less than its length.
 */
export function jsonSize(root: unknown, max: number, weights: Weights = {}): number {
  const { lengthOf = (text: string) => text.length, member = 0, fraction = VALUE_WEIGHT } = weights;
  const pending: unknown[] = [root];
  let size = 0;
  while (pending.length > 0 && size <= max) {
    const value = pending.pop();
    size += VALUE_WEIGHT;
    if (typeof value === "string") size += lengthOf(value);
    else if (typeof value === "number") size += Number.isSafeInteger(value) ? 0 : fraction;
    else if (Array.isArray(value)) for (const item of value) pending.push(item);
    else if (typeof value === "object" && value !== null)
      // `for in` takes half as long again for objects without a prototype, such as the results of GraphQL.
      for (const key of Object.keys(value)) {
        size += member + lengthOf(key);
        pending.push((value as Record<string, unknown>)[key]);
      }
  }
  return size;
}

const MAX_QUICK_SIZE = 1024 * 1024;

/** Whether a value has so many values, or numbers that V8 may write slowly, that writing it may take more than 15 ms beside its texts. */
export const isSlowToWrite = (value: unknown): value is object =>
  jsonSize(value, MAX_QUICK_SIZE, { lengthOf: () => 0, fraction: SLOW_FRACTION }) > MAX_QUICK_SIZE;

/** How many members the objects in a value have, at all depths; stops counting beyond `max`. */
export function countMembers(root: unknown, max: number): number {
  const pending: unknown[] = [root];
  let members = 0;
  while (pending.length > 0 && members <= max) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    const items = Object.values(value);
    if (!Array.isArray(value)) members += items.length;
    for (const item of items) if (typeof item === "object") pending.push(item);
  }
  return members;
}

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const OPENING_BRACKET = 0x5b;
export const OPENING_BRACE = 0x7b;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** What a JSON text holds. */
export interface JsonParts {
  /** How deep objects and lists nest. */
  depth: number;
  /** How many values there are, or a few more. */
  values: number;
  /** How many of them are members of objects. */
  members: number;
  /** How many texts are numbers of five to ten digits: V8 keeps members of such names sorted. */
  numbers: number;
  /** How many values its fractions count more, as in a body: one for two digits, with an exponent for one. */
  fractions: number;
  /** Whether each object, list and text ends. */
  isWhole: boolean;
  /** Whether a member has a longer name than a body may have. */
  hasLongName: boolean;
  /** Whether a number has 16 digits in a row or an exponent, so that JavaScript may read another one. */
  hasLongNumber: boolean;
}

/** Counts what a JSON text holds without parsing it, and no further than `max` values. */
export function countJson(text: string, max = Number.POSITIVE_INFINITY): JsonParts {
  const parts = {
    depth: 0,
    values: 1,
    members: 0,
    numbers: 0,
    isWhole: true,
    fractions: 0,
    hasLongName: false,
    hasLongNumber: false,
  };
  let open = 0;
  let characters = 0; // of the text that was last
  for (let at = 0; at < text.length && parts.values <= max; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfJsonString(text, at);
      if (isNumber(text, at + 1, end)) parts.numbers += 1;
      if (end >= text.length) return { ...parts, isWhole: false };
      characters = end - at - 1;
      at = end;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      parts.depth = Math.max(parts.depth, ++open);
      parts.values += 1;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) open -= 1;
    else if (code === COMMA) parts.values += 1;
    else if (code === COLON) {
      parts.members += 1;
      if (characters > MAX_HASHED_CHARACTERS) parts.hasLongName = true;
    } else if (isDigit(code)) {
      const end = endOfDigits(text, at);
      const digits = end - at;
      const hasExponent = (text.charCodeAt(end) | LOWER_CASE) === LETTER_E;
      if (digits >= LONG_DIGITS || hasExponent) parts.hasLongNumber = true;
      if (hasExponent) parts.fractions += digits;
      else if (text.charCodeAt(at - 1) === POINT) parts.fractions += Math.floor(digits / 2);
      at = end - 1;
    }
  }
  return { ...parts, isWhole: open === 0 };
}

const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;
const LETTER_E = 0x65;
const LOWER_CASE = 0x20;
/** The fewest digits of a whole number that a double may not hold. */
const LONG_DIGITS = 16;

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

function endOfDigits(text: string, start: number): number {
  let end = start + 1;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end;
}

const FEWEST_DIGITS = 5;
const MOST_DIGITS = 10;

/** Whether the characters from `start` to `end` look like a number that V8 takes for an index of an object. */
export function isNumber(text: string, start = 0, end = text.length): boolean {
  if (end - start < FEWEST_DIGITS || end - start > MOST_DIGITS) return false;
  const [first, last] = [text.charCodeAt(start), text.charCodeAt(end - 1)];
  return first > ZERO && first <= NINE && last >= ZERO && last <= NINE;
}

/** The index of the closing quotation mark of the JSON string that begins at `start`. */
export function endOfJsonString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1); // six times as fast as a loop over the characters
  if (quote === -1) return text.length;
  return text.charCodeAt(quote - 1) === BACKSLASH ? endAfterEscapes(text, start) : quote;
}

function endAfterEscapes(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return at;
}
