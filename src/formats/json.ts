import { jsonParser, type Token } from "stream-json/core/parser.js";
import type { Column } from "../datasets/entities.ts";
import { detailsOf } from "../validation/messages.ts";
import { exactNumber, inexactNumbers } from "./exactJson.ts";
import { fileHead } from "./jsonLines.ts";
import { type FileRow, isObject, type RowFile, toItem } from "./rows.ts";
import { FileError, type Input, MAX_ROW_CHARACTERS, piecesOf } from "./text.ts";

/**
 * Opens a JSON file: a list of rows, or an object with `rows` and, before them, `columns`, as `gabbro export` and
 * `GET /datasets/{slug}` write it. The file is never in memory as a whole.
 */
export async function openJson(input: Input): Promise<RowFile> {
  const reading = createAssembly();
  const rows = rowsOf(input, reading);
  const first = await rows.next();
  const head = headOf(input, reading.root());
  const columns = head?.columns ?? null;
  const before = columns ? `{"columns":${JSON.stringify(columns)},"rows":[\n` : "[\n";
  return {
    name: head?.name ?? null,
    columns,
    rows: withFirst(first, rows),
    rejectedFile: {
      before,
      between: ",\n",
      after: columns ? "\n]}\n" : "\n]\n",
      write: (source) => JSON.stringify(source),
    },
  };
}

async function* withFirst(first: IteratorResult<FileRow>, rows: AsyncIterable<FileRow>) {
  if (!first.done) yield first.value;
  yield* rows;
}

function headOf(
  { path }: Input,
  root: unknown,
): { name?: string | null | undefined; columns: Column[] } | null {
  if (!isObject(root)) return null;
  const source = isObject(root.dataset) ? root.dataset : root;
  if (!("columns" in source)) return null;
  const head = fileHead.safeParse(source);
  if (head.success) return head.data;
  const [detail] = detailsOf(head.error.issues);
  throw new FileError(path, 1, `${detail?.path} ${detail?.message}.`);
}

/** The parser reports no lines, so it gets one line at a time. */
async function* rowsOf(input: Input, reading: Assembly): AsyncGenerator<FileRow> {
  const parse = jsonParser({ packValues: true, streamValues: false });
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
  if (!reading.hadRows())
    throw new FileError(input.path, line, 'there are no rows: it must be a list, or an object with "rows".');
}

interface Level {
  value: Record<string, unknown> | unknown[];
  /** The member of an object that is being read. */
  key: string;
  line: number;
  isRows: boolean;
}

type Assembly = ReturnType<typeof createAssembly>;

/** Assembles values from tokens, and returns each row as soon as it is complete. */
function createAssembly() {
  const levels: Level[] = [];
  let ready: FileRow[] = [];
  let root: unknown;
  let isWhole = false;
  let hadRows = false;
  let size = 0;

  const put = (value: unknown, line: number) => {
    const parent = levels.at(-1);
    if (!parent) isWhole = true;
    else if (parent.isRows) {
      ready.push(toRow(value, line, size));
      size = 0;
    } else if (Array.isArray(parent.value)) parent.value.push(value);
    else define(parent.value, parent.key, value);
  };
  const open = (value: Level["value"], line: number) => {
    const isRows = Array.isArray(value) && !hadRows && leadsToRows(levels);
    if (levels.length === 0) root = value;
    hadRows ||= isRows;
    levels.push({ value, key: "", line, isRows });
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
    /** Returns the rows that these tokens of a line complete. */
    take: (tokens: Token[], line: number, characters: number): FileRow[] => {
      size += characters;
      ready = [];
      for (const token of tokens) read(token, line);
      return ready;
    },
    root: () => root,
    isWhole: () => isWhole,
    hadRows: () => hadRows,
    /** The number of characters since the last complete row. */
    size: () => size,
  };
}

/** Whether a list has the rows: the outermost list, the member `rows`, or `rows` of the member `dataset`. */
function leadsToRows([outer, inner, ...more]: Level[]): boolean {
  if (!outer) return true;
  if (!inner) return outer.key === "rows";
  return more.length === 0 && outer.key === "dataset" && inner.key === "rows";
}

/** Assigning to `__proto__` would set the prototype of the object. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

function toRow(value: unknown, line: number, size: number): FileRow {
  return { line, source: value, size, ...toItem({ value, details: inexactNumbers(value) }) };
}
