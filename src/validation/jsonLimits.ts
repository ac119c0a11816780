import { badInput, type GabbroError } from "../errors.ts";
import {
  COMMA,
  endOfJsonString,
  MAX_HASHED_CHARACTERS,
  OPENING_BRACE,
  OPENING_BRACKET,
  QUOTE,
} from "../limits/jsonSize.ts";
import { MAX_JSON_DEPTH } from "./json.ts";
import { INEXACT, isInexact, isLargeWhole } from "./numbers.ts";

/** A value to store stands a few levels deep in a body: in the variables of an operation, in a list of rows. */
export const MAX_BODY_DEPTH = MAX_JSON_DEPTH + 28;
/** Parsing, validating and storing this many values takes about 100 ms. */
export const MAX_VALUES = 500_000;
/** Parsing this many with different names takes 60 to 100 ms, in one turn of the event loop. */
export const MAX_MEMBERS = 100_000;
/** V8 keeps members whose names are large numbers in a table of its own, and sorts them for each look at all of them. */
const MEMBERS_OF_INDEX = 3;
const INDEX = /^[1-9]\d{4,9}$/;
const MAX_INDEX_CHARACTERS = 10;

/** Numbers with fewer characters are always exact. */
const MIN_INEXACT_CHARACTERS = 16;
/** Comparing a whole number of more digits than a safe one takes as long as parsing ten values: 480,000 took 0.3 s in one turn. */
const MORE_VALUES_OF_LARGE = 9;
/**
 * A number with a fraction counts a value more for every so many of its characters, and for each one with an exponent. V8 writes most
 * in a tenth of a microsecond, but takes 2 for one such as 0.1409862966177131 and 6 with an exponent: 400,000 of them, which may
 * all be the same, had others wait for 1.4 s.
 */
const CHARACTERS_OF_VALUE = 2;
const MAX_PATH_CHARACTERS = 200;

const TOO_MANY_VALUES = `has more than ${MAX_VALUES} values, where each number with a fraction counts as several; send less at once`;
const LONG_NAME = `has a member whose name is longer than ${MAX_HASHED_CHARACTERS} characters; shorten it`;

const MINUS = 0x2d;
const POINT = 0x2e;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** What the JSON texts of one request have together. */
export interface JsonCounts {
  values: number;
  members: number;
}

/**
 * Checks JSON in linear time before it is parsed: code that walks through values recurses for each level, and JavaScript
 * rounds long numbers silently. Throws BAD_INPUT, with the path of the text where it is a part of a body. A text that is not
 * JSON is left for the parser to refuse.
 */
export function checkJson(text: string, counts: JsonCounts = { values: 0, members: 0 }, path = ""): void {
  let depth = 0;
  let values = counts.values + 1;
  let members = counts.members;
  let lastString: [start: number, end: number] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfJsonString(text, at);
      lastString = [at + 1, end];
      at = end;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth += 1;
      values += 1;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth -= 1;
    else if (code === COMMA) values += 1;
    else if (code === COLON) {
      members += isIndex(text, lastString) ? MEMBERS_OF_INDEX : 1;
      if (lastString[1] - lastString[0] > MAX_HASHED_CHARACTERS) throw invalid(path, LONG_NAME);
    } else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, at);
      values += moreValuesOf(text, at, end);
      if (end - at >= MIN_INEXACT_CHARACTERS && isLargeWhole(text.slice(at, end))) {
        values += Math.max(MORE_VALUES_OF_LARGE, Math.floor((end - at) / CHARACTERS_OF_VALUE));
        if (values <= MAX_VALUES && isInexact(text.slice(at, end)))
          throw invalid(path || pathTo(text, at), INEXACT);
      }
      at = end - 1;
    }
    if (depth > MAX_BODY_DEPTH)
      throw invalid(path, `must not be nested deeper than ${MAX_BODY_DEPTH} levels`);
    if (values > MAX_VALUES) throw invalid(path, TOO_MANY_VALUES);
    if (members > MAX_MEMBERS)
      throw invalid(path, `has more than ${MAX_MEMBERS} members of objects; send less at once`);
  }
  counts.values = values;
  counts.members = members;
}

function invalid(path: string, message: string): GabbroError {
  return badInput([{ path, message }]);
}

/** The path of what stands at a place of a JSON text, such as `items.3.values.a`. */
function pathTo(text: string, place: number): string {
  const path: (string | number)[] = [];
  let name = "";
  for (let at = 0; at < place; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfJsonString(text, at);
      name = text.slice(at + 1, Math.min(end, at + 1 + MAX_PATH_CHARACTERS));
      at = end;
    } else if (code === OPENING_BRACE) path.push("");
    else if (code === OPENING_BRACKET) path.push(0);
    else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) path.pop();
    else if (code === COLON) path[path.length - 1] = name;
    else if (code === COMMA && typeof path.at(-1) === "number")
      path[path.length - 1] = (path.at(-1) as number) + 1;
  }
  return path.join(".").slice(0, MAX_PATH_CHARACTERS);
}

function moreValuesOf(text: string, start: number, end: number): number {
  let isFraction = false;
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === LOWER_E || code === UPPER_E) return end - start;
    if (code === POINT) isFraction = true;
  }
  return isFraction ? Math.floor((end - start) / CHARACTERS_OF_VALUE) : 0;
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && isInNumber(text.charCodeAt(at))) at += 1;
  return at;
}

function isIndex(text: string, [start, end]: [start: number, end: number]): boolean {
  return (
    end - start <= MAX_INDEX_CHARACTERS &&
    isDigit(text.charCodeAt(start)) &&
    INDEX.test(text.slice(start, end))
  );
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= DIGIT_9;
}

/** Digits, and the characters between them: . + - e E */
function isInNumber(code: number): boolean {
  return (
    isDigit(code) || code === POINT || code === 0x2b || code === MINUS || code === LOWER_E || code === UPPER_E
  );
}
