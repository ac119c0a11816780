import { MAX_JSON_DEPTH } from "../../validation/json.ts";

/** The deepest nesting that is parsed. Deeper texts stay texts, so that the value around them can still be stored. */
const MAX_PARSED_DEPTH = MAX_JSON_DEPTH - 20;

/** What parsing returns for a text that is not JSON, or nests too deep. */
export const NOT_JSON = Symbol("not JSON");

/** The value of a JSON text, or NOT_JSON. */
export function parseJson(text: string): unknown {
  const depth = depthOf(text);
  if (depth === null || depth > MAX_PARSED_DEPTH) return NOT_JSON;
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

/** The value of a text that holds a JSON object or list, or one of the given first characters; else the text itself. */
export function parseStructure(text: string, firstCharacters = "{["): unknown {
  if (!firstCharacters.includes(text.trimStart().slice(0, 1))) return text;
  const value = parseJson(text);
  return value === NOT_JSON ? text : value;
}

/**
 * How deep objects and lists nest in a JSON text; null when one of them, or a text, does not end: a text that was cut
 * is found without the cost of an exception. Looks at each character once.
 */
function depthOf(text: string): number | null {
  let depth = 0;
  let deepest = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (isInText) {
      if (character === "\\") at++;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === "{" || character === "[") deepest = Math.max(deepest, ++depth);
    else if (character === "}" || character === "]") depth--;
  }
  return depth === 0 && !isInText ? deepest : null;
}
