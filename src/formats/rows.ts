import type { Column } from "../datasets/entities.ts";
import type { ErrorDetail } from "../errors.ts";

/** A row of a file, not validated yet. */
export interface FileRow {
  /** The line where the row begins. */
  line: number;
  /** The input of `addDatasetItem`, not validated yet; null when `details` has errors. */
  item: Record<string, unknown> | null;
  details: ErrorDetail[];
  /** Members in the file that a row of a dataset does not have. */
  extraNames: string[];
  /** The row in the form that `RejectedFile.write` takes. */
  source: unknown;
  /** The approximate number of characters. */
  size: number;
}

/** An open file: its head and its rows. */
export interface RowFile {
  /** The name and the columns of the dataset; null where the file does not have them. */
  name: string | null;
  columns: Column[] | null;
  rows: AsyncIterable<FileRow>;
  rejectedFile: RejectedFile;
}

/** How to write rejected rows in the format of their file, to be corrected and imported again. */
export interface RejectedFile {
  before: string;
  between: string;
  after: string;
  write: (source: unknown) => string;
}

export type ColumnType = Column["type"];

const MAX_PORTION_ROWS = 1_000;
const MAX_PORTION_CHARACTERS = 500_000;

/** Rows in portions of one transaction each, small enough that other writes do not wait long. */
export async function* inPortions(rows: AsyncIterable<FileRow>): AsyncGenerator<FileRow[]> {
  let portion: FileRow[] = [];
  let size = 0;
  for await (const row of rows) {
    portion.push(row);
    size += row.size;
    if (portion.length < MAX_PORTION_ROWS && size < MAX_PORTION_CHARACTERS) continue;
    yield portion;
    portion = [];
    size = 0;
  }
  if (portion.length > 0) yield portion;
}

/** The fields of a row other than its values. */
export const rowFields = ["name", "key", "idealOutput", "metadata"] as const;
const isField = new Set<string>(rowFields);

/** Reads a value of a JSON file as a row: an object with a member `values`, or else an object of values. */
export function toItem({
  value,
  details,
}: {
  value: unknown;
  details: ErrorDetail[];
}): Pick<FileRow, "item" | "details" | "extraNames"> {
  if (!isObject(value))
    return { item: null, details: [{ path: "", message: "must be an object" }], extraNames: [] };
  if (details.length > 0) return { item: null, details: details.map(withinValues), extraNames: [] };
  const { values } = value;
  const fields = Object.entries(value).filter(([name]) => isField.has(name));
  const rest = Object.entries(value).filter(([name]) => !isField.has(name));
  if (!isObject(values))
    return {
      item: Object.fromEntries([...fields, ["values", Object.fromEntries(rest)]]),
      details,
      extraNames: [],
    };
  const extraNames = rest.flatMap(([name]) => (name === "values" ? [] : name));
  return { item: Object.fromEntries([...fields, ["values", values]]), details, extraNames };
}

function withinValues({ path, message }: ErrorDetail): ErrorDetail {
  return { path: path.replace(/^values\./, ""), message };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}
