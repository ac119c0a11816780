import { countJson } from "../../limits/jsonSize.ts";
import { keyOfText } from "../../limits/longTexts.ts";
import { MAX_JSON_DEPTH } from "../../validation/json.ts";
import { MAX_VALUES } from "./bounds.ts";
import { quoteLongNumbers } from "./longNumbers.ts";

/** The deepest nesting that is parsed. Deeper texts stay texts, so that the value around them can still be stored. */
const MAX_PARSED_DEPTH = MAX_JSON_DEPTH - 20;

/** What parsing returns for a text that is not JSON, nests too deep, or has too many values or too long names. */
export const NOT_JSON = Symbol("not JSON");

const NOT_ONE = { value: NOT_JSON, values: 0 };

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
 * Parses each text once, up to the number of values that a span may have together: a text of 10 MB can hold five million, which
 * took 0.4 s to parse and to make storable, and 1.7 s as lists. A text counts each time that it is asked for, as each field that
 * has it is made storable by itself: nine attributes with one text of 50,000 members took 0.7 s. A member of an object counts
 * as two values, one whose name is a number as three, and a fraction as several. A text that would have more stays a text, with a warning.
 */
export function createJsonTexts(warnings: Set<string>): JsonTexts {
  const known = new Map<string, { value: unknown; values: number }>();
  let valuesLeft = MAX_VALUES;
  const countValues = (values: number): boolean => {
    if (values > valuesLeft) {
      warnings.add(TOO_MANY);
      return false;
    }
    valuesLeft -= values;
    return true;
  };
  const parseNew = (text: string) => {
    const counted = countJson(text, valuesLeft);
    const { depth, values, members, numbers, fractions, isWhole, hasLongName, hasLongNumber } = counted;
    const weight = values + members + numbers + fractions;
    if (!isWhole && values <= valuesLeft) return NOT_ONE; // found without the cost of an exception
    if (depth > MAX_PARSED_DEPTH || hasLongName || !countValues(weight)) return NOT_ONE;
    try {
      const exact = hasLongNumber ? quoteLongNumbers(text, weight) : text;
      return { value: JSON.parse(exact) as unknown, values: weight };
    } catch {
      valuesLeft -= VALUES_OF_WRONG_TEXT;
      return NOT_ONE;
    }
  };
  const parse = (text: string): unknown => {
    const key = keyOfText(text);
    const earlier = known.get(key);
    if (earlier) return countValues(earlier.values) ? earlier.value : NOT_JSON;
    const parsed = parseNew(text);
    known.set(key, parsed);
    return parsed.value;
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
