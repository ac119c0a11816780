import { COMMA, endOfJsonString, OPENING_BRACE, OPENING_BRACKET, QUOTE } from "../../limits/jsonSize.ts";
import { MAX_JSON_DEPTH } from "../../validation/json.ts";
import { MAX_VALUES } from "./bounds.ts";

/** The deepest nesting that is parsed. Deeper texts stay texts, so that the value around them can still be stored. */
const MAX_PARSED_DEPTH = MAX_JSON_DEPTH - 20;

/** What parsing returns for a text that is not JSON, nests too deep, or has too many values. */
export const NOT_JSON = Symbol("not JSON");

/** A SyntaxError takes as long as this many values: 20 microseconds. */
const VALUES_OF_WRONG_TEXT = 50;

/** Parses the texts of one span that hold JSON. */
export interface JsonTexts {
  /** The value of a JSON text, or NOT_JSON. */
  parse(text: string): unknown;
  /** The value of a text that holds a JSON object or list, or one of the given first characters; else the text itself. */
  parseStructure(text: string, firstCharacters?: string): unknown;
  /** Counts further values, which keys spell; false, with a warning, when the span would have too many. */
  countValues(values: number): boolean;
}

/**
 * Parses each text once, and all of them up to the number of values that a span may have: a text of 10 MB can hold five million,
 * which took 0.4 s to parse and to make storable, and 1.7 s as lists. A text with more stays a text, with a warning.
 */
export function createJsonTexts(warnings: Set<string>): JsonTexts {
  const known = new Map<string, unknown>();
  let valuesLeft = MAX_VALUES;
  const countValues = (values: number): boolean => {
    if (values > valuesLeft) {
      warnings.add(TOO_MANY);
      return false;
    }
    valuesLeft -= values;
    return true;
  };
  const parseNew = (text: string): unknown => {
    const size = measure(text, valuesLeft);
    if (size === null || size.depth > MAX_PARSED_DEPTH || !countValues(size.values)) return NOT_JSON;
    try {
      return JSON.parse(text);
    } catch {
      valuesLeft -= VALUES_OF_WRONG_TEXT;
      return NOT_JSON;
    }
  };
  const parse = (text: string): unknown => {
    if (!known.has(text)) known.set(text, parseNew(text));
    return known.get(text);
  };
  return {
    parse,
    countValues,
    parseStructure: (text, firstCharacters = "{[") => {
      if (!firstCharacters.includes(text.trimStart().slice(0, 1))) return text;
      const value = parse(text);
      return value === NOT_JSON ? text : value;
    },
  };
}

const TOO_MANY = `The span has JSON texts, or keys that spell lists, with more than ${MAX_VALUES} values together. Gabbro keeps what is beyond them as it came.`;

const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/**
 * How deep objects and lists nest in a JSON text, and how many values it has or a few more; counts no further than `max`. Null
 * when one of them, or a text, does not end: a text that was cut is found without the cost of an exception.
 */
function measure(text: string, max: number): { depth: number; values: number } | null {
  let open = 0;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfJsonString(text, at);
      if (at >= text.length) return null;
    } else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth = Math.max(depth, ++open);
      values += 1;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) open -= 1;
    else if (code === COMMA) values += 1;
    if (values > max) return { depth, values };
  }
  return open === 0 ? { depth, values } : null;
}
