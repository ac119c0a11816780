import type { DatasetItemInput } from "../../gql/graphql.ts";
import type { GridColumn } from "./cells.ts";

/** A row of a file, by its number from 1: what to add, or why that is not possible. */
export interface FileRow {
  row: number;
  item: DatasetItemInput | null;
  message: string;
  characters: number;
}

interface Reading {
  columns: GridColumn[];
  signal: AbortSignal;
  /** Takes rows as they are read, up to that share of the file; reading goes on when it is done. */
  onRows: (rows: FileRow[], share: number) => Promise<void>;
}

const SLICE_BYTES = 256 * 1024;
const fields = ["key", "name", "idealOutput", "metadata"] as const;
type Field = (typeof fields)[number];

/** Reads a file of CSV or JSON Lines, as `gabbro export dataset` writes them, slice by slice. */
export function readRows(file: File, reading: Reading): Promise<void> {
  return /\.(jsonl|ndjson)$/i.test(file.name) ? readJsonLines(file, reading) : readCsv(file, reading);
}

async function readCsv(file: File, { columns, signal, onRows }: Reading): Promise<void> {
  const { default: papa } = await import("papaparse");
  let headings: string[] | null = null;
  let count = 0;
  await new Promise<void>((resolve, reject) => {
    papa.parse<string[]>(file, {
      chunkSize: SLICE_BYTES,
      skipEmptyLines: true,
      chunk: ({ data, errors, meta }, parser) => {
        parser.pause();
        const [first] = headings === null ? data.splice(0, 1) : [];
        headings ??= (first ?? []).map((name) => name.trim());
        const skipped = first ? 1 : 0;
        const broken = new Map(
          errors.flatMap(({ type, row, message }) =>
            type === "Quotes" && row !== undefined ? [[row - skipped, message]] : [],
          ),
        );
        const rows = data.map((cells, n) => rowOf(++count, cells, headings!, columns, broken.get(n)));
        onRows(rows, Math.min(1, meta.cursor / file.size)).then(
          () => (signal.aborted ? parser.abort() : parser.resume()),
          (error) => {
            reject(error);
            parser.abort();
          },
        );
      },
      complete: () => resolve(),
      error: reject,
    });
  });
}

function rowOf(
  row: number,
  cells: string[],
  headings: string[],
  columns: GridColumn[],
  broken: string | undefined,
): FileRow {
  const characters = cells.reduce((sum, cell) => sum + cell.length, 0);
  const refused = (message: string) => ({ row, item: null, message, characters });
  if (broken) return refused(broken);
  if (cells.slice(headings.length).some(Boolean)) return refused("It has more cells than the first line.");
  const item: Record<string, unknown> = {};
  const values: Record<string, unknown> = {};
  try {
    headings.forEach((heading, n) => {
      const cell = cells[n];
      if (!heading || !cell) return;
      if (isField(heading)) item[heading] = heading === "metadata" ? readJson(cell, heading) : cell;
      else {
        const { name, isJson } = columnOf(heading, columns);
        values[name] = isJson ? readJson(cell, name) : markedValue(cell, name);
      }
    });
  } catch (error) {
    return refused((error as Error).message);
  }
  return { row, item: { ...item, values }, message: "", characters };
}

const isField = (name: string): name is Field => (fields as readonly string[]).includes(name);

/** The column that a heading such as `facts:json` or `values.name` stands for. */
function columnOf(heading: string, columns: GridColumn[]): { name: string; isJson: boolean } {
  const [, stem, type] = /^(.+):(text|json|image|file)$/s.exec(heading) ?? [];
  const name = (stem ?? heading).replace(/^values\./, "");
  const own = columns.find(({ title, isIdealOutput }) => !isIdealOutput && title === name);
  return { name, isJson: (type ?? own?.type.toLowerCase()) === "json" };
}

/** A text, or the JSON behind the mark `json:`. */
const markedValue = (cell: string, name: string): unknown =>
  cell.startsWith("json:") ? readJson(cell.slice("json:".length), name) : cell;

function readJson(cell: string, name: string): unknown {
  try {
    return JSON.parse(cell);
  } catch {
    throw new Error(`“${name}” is not valid JSON.`);
  }
}

async function readJsonLines(file: File, { signal, onRows }: Reading): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  let count = 0;
  for (let at = 0; at < file.size && !signal.aborted; at += SLICE_BYTES) {
    const isLast = at + SLICE_BYTES >= file.size;
    const slice = await file.slice(at, at + SLICE_BYTES).arrayBuffer();
    const lines = (rest + decoder.decode(slice, { stream: !isLast })).split(/\r?\n/);
    rest = isLast ? "" : lines.pop()!;
    const rows = lines.flatMap((line) => {
      count += 1;
      return line.trim() === "" ? [] : (lineOf(count, line) ?? []);
    });
    await onRows(rows, Math.min(1, (at + SLICE_BYTES) / file.size));
  }
}

/** The row of a line; null for the one that describes the dataset. */
function lineOf(row: number, line: string): FileRow | null {
  const characters = line.length;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { row, item: null, message: "It is not valid JSON.", characters };
  }
  if (!isObject(value)) return { row, item: null, message: "It is not a JSON object.", characters };
  if (row === 1 && isObject(value.dataset) && !isObject(value.values)) return null;
  const entries = Object.entries(value);
  const item = Object.fromEntries(entries.filter(([name]) => isField(name)));
  const values = isObject(value.values)
    ? value.values
    : Object.fromEntries(entries.filter(([name]) => !isField(name)));
  return { row, item: { ...item, values }, message: "", characters };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
