import { CsvError, parse } from "csv-parse";
import { stringify } from "csv-stringify/sync";
import { columnInput } from "../datasets/inputs.ts";
import { type ErrorDetail, quoted } from "../errors.ts";
import { detailsOf } from "../validation/messages.ts";
import { type Cell, fromCell, type Heading, readJson, toHeading } from "./cells.ts";
import { type ColumnType, type FileRow, isObject, type RowFile } from "./rows.ts";
import { FileError, type Input, MAX_ROW_CHARACTERS, piecesOf } from "./text.ts";

/** Opens a CSV file. `typeOf` returns the types of existing columns, for headings without a type. */
export async function openCsv(
  input: Input,
  typeOf: (column: string) => ColumnType | undefined,
): Promise<RowFile> {
  const pieces = piecesOf(input);
  const beginning = await beginningOf(pieces);
  const delimiter = delimiterOf(beginning);
  const records = recordsOf(input.path, chain(beginning, pieces), delimiter);
  const { value: header } = await records.next();
  if (!header) throw new FileError(input.path, 1, "the file is empty; its first line must name the columns.");
  const headings = toHeadings(header.cells, input.path);
  const columns = headings.flatMap((heading) =>
    heading.kind === "column"
      ? { name: heading.name, type: heading.type ?? typeOf(heading.name) ?? "text" }
      : [],
  );
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  return {
    name: null,
    columns,
    rows: rowsOf(records, headings, (name) => types.get(name)!),
    rejectedFile: {
      before: toCsv([header.cells], delimiter),
      between: "",
      after: "",
      write: (cells) => toCsv([cells as Cell[]], delimiter),
    },
  };
}

// `""` is the empty text, an empty cell no value. Quotation marks hide other delimiters in a heading from `delimiterOf`.
const QUOTED = /^$|[,;\t\uFEFF]/;

/** Rows of cells as CSV, each with its line break. */
export function toCsv(rows: Cell[][], delimiter = ",", more: { escape_formulas?: boolean } = {}): string {
  return stringify(rows, { delimiter, quoted_match: QUOTED, ...more });
}

/** The first line, or as much of it as a row may have: the parser rejects longer rows. */
async function beginningOf(pieces: AsyncGenerator<string>): Promise<string> {
  let beginning = "";
  while (beginning.length <= MAX_ROW_CHARACTERS) {
    const { value, done } = await pieces.next();
    if (done) break;
    beginning += value;
    if (/[\r\n]/.test(value)) break;
  }
  return beginning;
}

async function* chain(beginning: string, pieces: AsyncIterable<string>) {
  yield beginning;
  yield* pieces;
}

/** The delimiter of the header: spreadsheets also write tabs, or `;` where the comma separates decimals. */
function delimiterOf(beginning: string): string {
  const bare = beginning.replaceAll(/"[^"]*"?/g, "").split(/[\r\n]/, 1)[0]!;
  const counts = [",", ";", "\t"].map((sign) => ({ sign, count: bare.split(sign).length }));
  return counts.reduce((most, next) => (next.count > most.count ? next : most)).sign;
}

interface Record {
  line: number;
  cells: Cell[];
  size: number;
}

const LINE_BREAK = /\r\n|\n|\r/g;

async function* recordsOf(
  path: string,
  pieces: AsyncIterable<string>,
  delimiter: string,
): AsyncGenerator<Record> {
  let records: Record[] = [];
  let line = 1;
  const parser = parse({
    delimiter,
    record_delimiter: ["\r\n", "\n", "\r"],
    max_record_size: MAX_ROW_CHARACTERS,
    relax_column_count: true,
    skip_empty_lines: true,
    cast: (text, { quoting }) => (text === "" && !quoting ? null : text),
    on_record: (cells: Cell[], { empty_lines }) => {
      // The parser's own count of lines is wrong after a CR LF in quotation marks.
      const size = cells.reduce((sum, cell) => sum + (cell?.length ?? 0) + 1, 0);
      records.push({ line: line + empty_lines, cells, size });
      line += 1 + cells.reduce((sum, cell) => sum + (cell?.match(LINE_BREAK)?.length ?? 0), 0);
      return null;
    },
  });
  const toFileError = (error: Error) =>
    new FileError(
      path,
      line + parser.info.empty_lines,
      (error instanceof CsvError && details[error.code]) || error.message,
    );
  parser.on("error", () => {}); // reported by the callbacks below
  const wait = (run: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve, reject) => run((error) => (error ? reject(toFileError(error)) : resolve())));
  const takeRecords = () => {
    const complete = records;
    records = [];
    return complete;
  };
  for await (const piece of pieces) {
    let failed: unknown;
    await wait((done) => parser.write(piece, done)).catch((error) => {
      failed = error;
    });
    yield* takeRecords();
    if (failed) throw failed;
  }
  await wait((done) => parser.end(done));
  yield* takeRecords();
}

const details: { [code: string]: string } = {
  CSV_QUOTE_NOT_CLOSED: "a quotation mark opens in this row and is never closed.",
  INVALID_OPENING_QUOTE:
    "a quotation mark stands within a cell of this row. Put the cell in quotation marks and double those in it.",
  CSV_INVALID_CLOSING_QUOTE:
    "something stands behind the closing quotation mark of a cell of this row. Double the quotation marks within cells.",
  CSV_MAX_RECORD_SIZE: "this row is over 16 MB. Is a quotation mark missing that closes a cell?",
};

function toHeadings(cells: Cell[], path: string): Heading[] {
  const last = cells.findLastIndex((cell) => cell); // spreadsheets write cells for empty columns too
  const names = cells.slice(0, last + 1);
  const nameless = names.findIndex((name) => !name);
  if (names.length === 0 || nameless >= 0)
    throw new FileError(path, 1, `column ${nameless + 1 || 1} has no name; give it one, or remove it.`);
  const headings = names.map((name) => toHeading(name!));
  const seen = new Set<string>();
  for (const heading of headings) {
    const key = JSON.stringify([heading.kind, "name" in heading ? heading.name : ""]);
    const name = "name" in heading ? heading.name : "values";
    if (seen.has(key)) throw new FileError(path, 1, `the column ${quoted(name)} stands there twice.`);
    seen.add(key);
    const parsed = columnInput.shape.name.safeParse(name);
    if (parsed.error)
      throw new FileError(path, 1, `the name of a column ${detailsOf(parsed.error.issues)[0]!.message}.`);
  }
  return headings;
}

async function* rowsOf(
  records: AsyncIterable<Record>,
  headings: Heading[],
  typeOf: (column: string) => ColumnType,
): AsyncGenerator<FileRow> {
  for await (const { line, cells, size } of records)
    yield { line, size, source: cells, extraNames: [], ...toItem(cells, headings, typeOf) };
}

function toItem(
  cells: Cell[],
  headings: Heading[],
  typeOf: (column: string) => ColumnType,
): Pick<FileRow, "item" | "details"> {
  if (cells.length < headings.length || cells.slice(headings.length).some((cell) => cell)) {
    const message = `has ${cells.length} cells, but the header names ${headings.length}`;
    return { item: null, details: [{ path: "", message }] };
  }
  const item: { [field: string]: unknown } = {};
  const values: [string, unknown][] = [];
  const details: ErrorDetail[] = [];
  headings.forEach((heading, at) => {
    const cell = cells[at]!;
    try {
      if (heading.kind === "column") values.push([heading.name, fromCell(cell, typeOf(heading.name))]);
      else if (heading.kind === "values") values.push(...valuesIn(cell));
      else item[heading.name] = heading.name === "metadata" ? optionalJson(cell) : cell;
    } catch (error) {
      const path = heading.kind === "values" ? "values" : heading.name;
      details.push({ path, message: (error as Error).message });
    }
  });
  if (details.length > 0) return { item: null, details };
  return {
    item: { ...item, values: Object.fromEntries(values.filter(([, value]) => value !== undefined)) },
    details,
  };
}

function optionalJson(cell: Cell): unknown {
  return cell ? readJson(cell, "is not valid JSON") : null;
}

function valuesIn(cell: Cell): [string, unknown][] {
  const message = "must be a JSON object; a column of the dataset that is named so is written values.values";
  const value = cell ? readJson(cell, message) : {};
  if (!isObject(value)) throw new Error(message);
  return Object.entries(value);
}
