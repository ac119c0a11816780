import type { Column } from "../datasets/entities.ts";
import type { ErrorDetail } from "../errors.ts";

/** A row as it stands in a file, before anybody judged it. */
export interface FileRow {
  /** Where it begins. */
  line: number;
  /** Something like the input of `addDatasetItem`; null when `details` say why there is none. */
  item: Record<string, unknown> | null;
  details: ErrorDetail[];
  /** Names that the file has but a row of a dataset has no place for. */
  beside: string[];
  /** What the format makes the row of again, so that it can be mended. */
  source: unknown;
  /** How many characters it took, about. */
  size: number;
}

/** A file that was opened: what it tells of itself, and its rows. */
export interface RowFile {
  /** The name and the columns of the dataset, as far as the file tells. */
  name: string | null;
  columns: Column[] | null;
  rows: AsyncIterable<FileRow>;
  /** Writes rows that were refused in a form that can be mended and imported. */
  refused: { before: string; between: string; after: string; write: (source: unknown) => string };
}

export type ColumnType = Column["type"];

const MOST_ROWS = 1_000;
const MOST_CHARACTERS = 500_000;

/** Rows in portions that are stored at once: small enough that nobody who writes meanwhile waits long. */
export async function* inPortions(rows: AsyncIterable<FileRow>): AsyncGenerator<FileRow[]> {
  let portion: FileRow[] = [];
  let size = 0;
  for await (const row of rows) {
    portion.push(row);
    size += row.size;
    if (portion.length < MOST_ROWS && size < MOST_CHARACTERS) continue;
    yield portion;
    portion = [];
    size = 0;
  }
  if (portion.length > 0) yield portion;
}

/** What a row holds beside its values. */
export const rowFields = ["name", "key", "idealOutput", "metadata"] as const;
const isField = new Set<string>(rowFields);

/** A value of a JSON file as a row: an object with a member `values` is one, else its members are the values. */
export function toItem({
  value,
  details,
}: {
  value: unknown;
  details: ErrorDetail[];
}): Pick<FileRow, "item" | "details" | "beside"> {
  if (!isObject(value))
    return { item: null, details: [{ path: "", message: "must be an object" }], beside: [] };
  if (details.length > 0) return { item: null, details: details.map(withinValues), beside: [] };
  const { values } = value;
  const fields = Object.entries(value).filter(([name]) => isField.has(name));
  const others = Object.entries(value).filter(([name]) => !isField.has(name));
  if (!isObject(values))
    return {
      item: Object.fromEntries([...fields, ["values", Object.fromEntries(others)]]),
      details,
      beside: [],
    };
  const beside = others.flatMap(([name]) => (name === "values" ? [] : name));
  return { item: Object.fromEntries([...fields, ["values", values]]), details, beside };
}

function withinValues({ path, message }: ErrorDetail): ErrorDetail {
  return { path: path.replace(/^values\./, ""), message };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}
