import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseExactJson } from "../formats/exactJson.ts";
import { linesOf } from "../formats/jsonLines.ts";
import { createAssembly, jsonValues, type Level } from "../formats/jsonValues.ts";
import { isObject } from "../formats/rows.ts";
import { FileError, MAX_ROW_CHARACTERS } from "../formats/text.ts";
import type { Place, Refused } from "./entries.ts";

/** An object of a file, with its place. */
export interface FileRecord extends Place {
  value: Record<string, unknown>;
}

/** A file to import, and its length. */
export interface SourceFile {
  path: string;
  bytes: number;
}

const ENDING = /\.(json|jsonl|ndjson)(?:\.gz)?$/i;

/** The files of a path with one of the endings: itself, or those of a folder and of the folders in it, by name. */
export async function filesAt(path: string, isWanted = (name: string) => ENDING.test(name)) {
  const stats = await stat(path).catch(() => null);
  if (!stats) throw new Error(`There is no file or folder ${path}.`);
  if (stats.isFile()) return [{ path, bytes: stats.size }];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && isWanted(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  if (paths.length === 0) throw new Error(`There is no file in ${path} to import.`);
  return Promise.all(
    paths.map(async (each): Promise<SourceFile> => ({ path: each, bytes: (await stat(each)).size })),
  );
}

/** A file in the order in which its product has to be read. */
export interface RankedFile extends SourceFile {
  rank: number;
  isLastOfRank: boolean;
}

/** The files of a path by the rank of their first object; equal ones by name. */
export async function filesInOrder(
  path: string,
  lists: string[],
  rankOf: (value: Record<string, unknown>) => number,
): Promise<RankedFile[]> {
  const ranked: (SourceFile & { rank: number })[] = [];
  for (const file of await filesAt(path)) {
    const first = await firstRecordOf(file.path, lists);
    ranked.push({ ...file, rank: first ? rankOf(first) : Number.MAX_SAFE_INTEGER });
  }
  const sorted = ranked.toSorted((a, b) => a.rank - b.rank);
  return sorted.map((file, n) => ({ ...file, isLastOfRank: sorted[n + 1]?.rank !== file.rank }));
}

async function firstRecordOf(path: string, lists: string[]) {
  for await (const record of recordsOf(path, { onRead: () => {}, lists }))
    return "kind" in record ? null : record.value;
  return null;
}

/** How to read the files of a product. */
export interface Reading {
  onRead: (bytes: number) => void;
  /** The members in which the answers of the product's API have their lists, such as `data`. */
  lists: string[];
}

/**
 * The objects of a file of JSON or JSON Lines, also within answers of an API, one by one. What follows an error that the
 * reading cannot go beyond is refused as a whole.
 */
export async function* recordsOf(path: string, reading: Reading): AsyncGenerator<FileRecord | Refused> {
  const isLines = /\.(?:jsonl|ndjson)(?:\.gz)?$/i.test(path);
  const values = isLines ? ofLines(path, reading) : ofJson(path, reading);
  for await (const read of refusingRest(path, values)) {
    if ("kind" in read) yield read;
    else if (isObject(read.value)) yield { file: path, line: read.line, value: read.value };
    else yield { kind: "refused", file: path, line: read.line, reason: read.reason ?? "is no JSON object" };
  }
}

/** What is read of a file; an error of the file refuses the rest of it, and no other file. */
export async function* refusingRest<Item>(
  file: string,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item | Refused> {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const reason = `nothing from here on is imported: ${error.reason.replace(/\.$/, "")}`;
    yield { kind: "refused", file, line: error.line, reason };
  }
}

/** Prompts are all in memory before the first is imported, as their versions may stand anywhere. */
const MAX_COLLECTED_CHARACTERS = 64 * 1024 * 1024;

/** Counts the characters of prompts that are collected; throws when they are too many. */
export function createCollected() {
  let characters = 0;
  return ({ file, value }: FileRecord): void => {
    characters += JSON.stringify(value).length;
    if (characters > MAX_COLLECTED_CHARACTERS)
      throw new Error(
        `The prompts up to ${file} have more than 64 million characters. Import fewer files at once.`,
      );
  };
}

interface Read {
  line: number;
  value?: unknown;
  reason?: string;
}

async function* ofLines(path: string, { onRead, lists }: Reading): AsyncGenerator<Read> {
  for await (const { line, text } of linesOf({ path, onRead }, MAX_ROW_CHARACTERS)) {
    if (text === null) {
      yield { line, reason: "is longer than 16 MB" };
      continue;
    }
    const parsed = readable(() => parseForeignJson(text));
    if (parsed.reason !== undefined) yield { line, reason: parsed.reason };
    else for (const value of listIn(parsed.value, lists)) yield { line, value };
  }
}

function readable(read: () => unknown): { value?: unknown; reason?: string } {
  try {
    return { value: read() };
  } catch (error) {
    return { reason: error instanceof RangeError ? TOO_DEEP : "is not valid JSON" };
  }
}

/** What is nested deeper would exceed the stack of those who read it. */
const MAX_DEPTH = 1_000;
export const TOO_DEEP = "is nested too deeply";

/** The entries of a list, or of the list in an answer; else the value itself. What has an id is no answer but a record. */
function listIn(value: unknown, lists: string[]): unknown[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value) || "id" in value) return [value];
  const name = lists.find((each) => Array.isArray(value[each]));
  return name === undefined ? [value] : (value[name] as unknown[]);
}

async function* ofJson(path: string, { onRead, lists }: Reading): AsyncGenerator<Read> {
  const leadsToList = ([outer, ...inner]: Level[]) =>
    !outer ||
    (inner.length === 0 &&
      !Array.isArray(outer.value) &&
      !("id" in outer.value) &&
      lists.includes(outer.key));
  const assembly = createAssembly("any", leadsToList);
  for await (const { line, value } of jsonValues({ path, onRead }, assembly))
    yield { line, ...readable(() => withoutRaw(value)) };
}

/** Parses JSON of another product. Throws a RangeError where it is nested too deeply. */
export const parseForeignJson = (text: string): unknown => withoutRaw(parseExactJson(text).value);

/** Numbers that JavaScript would change become texts: ids of other products may be as long. */
function withoutRaw(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw new RangeError(TOO_DEEP);
  if (JSON.isRawJSON(value)) return JSON.stringify(value);
  for (const [key, member] of Object.entries(value))
    if (typeof member === "object" && member !== null) {
      const kept = withoutRaw(member, depth + 1);
      if (kept !== member) Reflect.set(value, key, kept);
    }
  return value;
}
