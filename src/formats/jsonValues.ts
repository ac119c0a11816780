import { jsonParser, type Token } from "stream-json/core/parser.js";
import { exactNumber } from "./exactJson.ts";
import { FileError, type Input, MAX_ROW_CHARACTERS, piecesOf } from "./text.ts";

/** A value of a JSON file, with the line where it begins and its approximate length in characters. */
export interface JsonValue {
  value: unknown;
  line: number;
  size: number;
}

/** What a file holds: one document with a list, or documents one after another, which may be values of their own. */
export type Documents = "one with a list" | "any";

/**
 * The values of the lists of a JSON file. The file is never in memory as a whole. The parser reports no lines, so it gets one
 * line at a time.
 */
export async function* jsonValues(input: Input, reading: Assembly): AsyncGenerator<JsonValue> {
  const jsonStreaming = reading.documents === "any";
  const parse = jsonParser({ packValues: true, streamValues: false, jsonStreaming });
  const read = (part: string) => {
    try {
      const tokens = parse(part);
      return typeof tokens === "symbol" ? [] : tokens.values;
    } catch (error) {
      const what = (error as Error).message.replace(/^Parser (?:cannot parse input: |has )/, "");
      throw new FileError(input.path, line, `this is not valid JSON: ${what}.`);
    }
  };
  let line = 1;
  for await (const piece of piecesOf(input)) {
    for (const part of piece.split(/(?<=\n)/)) {
      yield* reading.take(read(part), line, part.length);
      if (reading.size() > MAX_ROW_CHARACTERS)
        throw new FileError(input.path, line, "the row here is over 16 MB.");
      if (part.endsWith("\n")) line++;
    }
  }
  yield* reading.take(read("\n"), line, 0); // completes a number at the end
  if (!reading.isWhole()) throw new FileError(input.path, line, "the JSON ends too early.");
  if (!reading.hadList() && !jsonStreaming)
    throw new FileError(input.path, line, 'there are no rows: it must be a list, or an object with "rows".');
}

/** An object or a list that is being read. */
export interface Level {
  value: Record<string, unknown> | unknown[];
  /** The member of an object that is being read. */
  key: string;
  line: number;
  isList: boolean;
}

export type Assembly = ReturnType<typeof createAssembly>;

/** Assembles values from tokens, and returns each of a list, to which `isWanted` leads, as soon as it is complete. */
export function createAssembly(documents: Documents, isWanted: (levels: Level[]) => boolean) {
  const levels: Level[] = [];
  let ready: JsonValue[] = [];
  let root: unknown;
  let isWhole = documents === "any";
  let hadList = false;
  let size = 0;

  const finish = (value: unknown, line: number) => {
    ready.push({ value, line, size });
    size = 0;
  };
  const put = (value: unknown, line: number) => {
    const parent = levels.at(-1);
    if (!parent) {
      isWhole = true;
      if (documents === "any" && !hadList) finish(value, line);
      if (documents === "any") hadList = false;
    } else if (parent.isList) finish(value, line);
    else if (Array.isArray(parent.value)) parent.value.push(value);
    else define(parent.value, parent.key, value);
  };
  const open = (value: Level["value"], line: number) => {
    const isList = Array.isArray(value) && !hadList && isWanted(levels);
    if (levels.length === 0) root = value;
    isWhole = false;
    hadList ||= isList;
    levels.push({ value, key: "", line, isList });
  };
  const read = (token: Token, line: number) => {
    if (token.name === "startObject") open({}, line);
    else if (token.name === "startArray") open([], line);
    else if (token.name === "keyValue") levels.at(-1)!.key = token.value;
    else if (token.name === "numberValue") put(exactNumber(token.value), line);
    else if (token.name === "endObject" || token.name === "endArray") {
      const { value, line: beginning } = levels.pop()!;
      put(value, beginning);
    } else put("value" in token ? token.value : null, line);
  };

  return {
    documents,
    /** Returns the values that these tokens of a line complete. */
    take: (tokens: Token[], line: number, characters: number): JsonValue[] => {
      size += characters;
      ready = [];
      for (const token of tokens) read(token, line);
      return ready;
    },
    root: () => root,
    isWhole: () => isWhole,
    hadList: () => hadList,
    /** The number of characters since the last complete value. */
    size: () => size,
  };
}

/** Assigning to `__proto__` would set the prototype of the object. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}
