import type { DatasetItemInput } from "../../gql/graphql.ts";
import { type CsvRecord, csvReader } from "../../parts/csvReader.ts";
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
const fields = ["key", "name", "idealOutput", "metadata"];

/** Reads a file of CSV or JSON Lines, as `gabbro export dataset` writes them, slice by slice. */
export function readRows(file: File, reading: Reading): Promise<void> {
  return /\.(jsonl|ndjson)$/i.test(file.name) ? readJsonLines(file, reading) : readCsv(file, reading);
}

async function readCsv(file: File, { columns, signal, onRows }: Reading): Promise<void> {
  let reader: ReturnType<typeof csvReader> | undefined;
  let headings: (Heading | null)[] | undefined;
  let count = 0;
  for await (const { text, share } of slicesOf(file, signal)) {
    reader ??= csvReader(delimiterOf(text));
    const records = reader.read(text);
    if (share === 1) records.push(...reader.end());
    const filled = records.filter(({ cells }) => cells.length > 1 || cells[0] !== null);
    const [first] = headings ? [] : filled.splice(0, 1);
    headings ??= first && headingsOf(first, columns);
    await onRows(
      filled.map((record) => rowOf(++count, record, headings ?? [])),
      share,
    );
  }
}

/** The delimiter of the first line: spreadsheets also write tabs, or `;` where the comma separates decimals. */
function delimiterOf(text: string): string {
  const bare = text.replaceAll(/"[^"]*"?/g, "").split(/[\r\n]/, 1)[0]!;
  const counts = [",", ";", "\t"].map((sign) => ({ sign, count: bare.split(sign).length }));
  return counts.reduce((most, next) => (next.count > most.count ? next : most)).sign;
}

async function* slicesOf(file: File, signal: AbortSignal): AsyncGenerator<{ text: string; share: number }> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let at = 0; at < file.size && !signal.aborted; at += SLICE_BYTES) {
    const isLast = at + SLICE_BYTES >= file.size;
    const slice = await file.slice(at, at + SLICE_BYTES).arrayBuffer();
    yield {
      text: decoded(() => decoder.decode(slice, { stream: !isLast })),
      share: isLast ? 1 : (at + SLICE_BYTES) / file.size,
    };
  }
}

/** Text that is not UTF-8 is an error: it would be stored with other characters. */
function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new Error('The file is not UTF-8. Save it as UTF-8 (in a spreadsheet: "CSV UTF-8").');
  }
}

function rowOf(row: number, { cells, problem }: CsvRecord, headings: (Heading | null)[]): FileRow {
  const characters = cells.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
  const refused = (message: string) => ({ row, item: null, message, characters });
  if (problem) return refused(problem);
  if (cells.slice(headings.length).some(Boolean)) return refused("It has more cells than the first line.");
  const item: Record<string, unknown> = {};
  const values: Record<string, unknown> = {};
  try {
    headings.forEach((heading, n) => {
      const cell = cells[n];
      if (!heading || cell == null) return;
      const { name, isField, isJson } = heading;
      if (isJson && cell === "") return;
      const value = isJson ? readJson(cell, name) : cell;
      if (isField) item[name] = value;
      else values[name] = isJson ? value : markedValue(cell, name);
    });
  } catch (error) {
    return refused((error as Error).message);
  }
  return { row, item: { ...item, values }, message: "", characters };
}

/** What the cells below a heading are: a field of the row, or the values of a column. */
interface Heading {
  name: string;
  isField: boolean;
  isJson: boolean;
}

/** The headings of a file, null for empty ones; one that stands there twice is an error, as one of its cells would be lost. */
function headingsOf({ cells }: CsvRecord, columns: GridColumn[]): (Heading | null)[] {
  const seen = new Set<string>();
  return cells.map((cell) => {
    const text = (cell ?? "").trim();
    if (text === "") return null;
    const heading = headingOf(text, columns);
    const key = `${heading.isField} ${heading.name}`;
    if (seen.has(key)) throw new Error(`The column “${heading.name}” stands there twice.`);
    seen.add(key);
    return heading;
  });
}

/** A field, or the column that a heading such as `facts:json` or `values.name` stands for. */
function headingOf(heading: string, columns: GridColumn[]): Heading {
  if (isField(heading)) return { name: heading, isField: true, isJson: heading === "metadata" };
  const [, stem, type] = /^(.+):(text|json|image|file)$/s.exec(heading) ?? [];
  const name = (stem ?? heading).replace(/^values\./, "");
  const own = columns.find(({ title, isIdealOutput }) => !isIdealOutput && title === name);
  return { name, isField: false, isJson: (type ?? own?.type.toLowerCase()) === "json" };
}

const isField = (name: string): boolean => fields.includes(name);

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
  let rest = "";
  let count = 0;
  for await (const { text, share } of slicesOf(file, signal)) {
    const lines = (rest + text).split(/\r?\n/);
    rest = share === 1 ? "" : lines.pop()!;
    const rows = lines.flatMap((line) => {
      count += 1;
      return line.trim() === "" ? [] : (lineOf(count, line) ?? []);
    });
    await onRows(rows, share);
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
