import { type Column, columnTypes } from "../datasets/entities.ts";
import { quoted } from "../errors.ts";
import { parseExactJson } from "./exactJson.ts";
import { type ColumnType, rowFields } from "./rows.ts";

/** A cell of CSV; null when it is empty and has no quotation marks. */
export type Cell = string | null;

/** The content of a column of CSV: a field of the row, all its values, or the value of one column of the dataset. */
export type Heading =
  | { kind: "field"; name: (typeof rowFields)[number] }
  | { kind: "values" }
  | { kind: "column"; name: string; type: ColumnType | null };

const JSON_MARK = "json:";
const PREFIX = "values.";
export const TYPE_ENDING = new RegExp(`^(.+):(${columnTypes.join("|")})$`, "s");
const reserved: readonly string[] = [...rowFields, "values"];

/** Parses a heading: `values.name` is the column "name", `facts:json` the column "facts" of type json. */
export function toHeading(text: string): Heading {
  const isPrefixed = text.startsWith(PREFIX) && text.length > PREFIX.length;
  const [, stem, type] = TYPE_ENDING.exec(text) ?? [];
  const name = stem ?? text;
  if (isPrefixed)
    return { kind: "column", name: name.slice(PREFIX.length), type: (type as ColumnType) ?? null };
  if (name === "values") return { kind: "values" };
  if (reserved.includes(name)) return { kind: "field", name: name as (typeof rowFields)[number] };
  return { kind: "column", name, type: (type as ColumnType) ?? null };
}

/** The heading that `toHeading` parses to the same name and type. */
export function headingOf({ name, type }: Column): string {
  const needsType = type !== "text" || TYPE_ENDING.test(name);
  const needsPrefix = reserved.includes(TYPE_ENDING.exec(name)?.[1] ?? name) || name.startsWith(PREFIX);
  return `${needsPrefix ? PREFIX : ""}${name}${needsType ? `:${type}` : ""}`;
}

/** The cell of a value: a text as it is; other values, and all in columns of type json, as JSON. */
export function toCell(value: unknown, type: ColumnType): Cell {
  if (value === undefined) return null;
  if (type === "json") return JSON.stringify(value);
  if (typeof value === "string" && !value.startsWith(JSON_MARK)) return value;
  return `${JSON_MARK}${JSON.stringify(value)}`;
}

/** The value of a cell; undefined for none. Throws an error with a sentence for the user. */
export function fromCell(cell: Cell, type: ColumnType): unknown {
  if (cell === null) return undefined;
  if (type === "json") return cell === "" ? undefined : readJson(cell, "is not valid JSON");
  if (!cell.startsWith(JSON_MARK)) return cell;
  const message = `begins with ${JSON_MARK}, but no valid JSON stands behind it; to mean that text, write ${JSON_MARK}${quoted(`${JSON_MARK}…`)}`;
  return readJson(cell.slice(JSON_MARK.length), message);
}

/** The value of a cell of JSON. Throws an error with a sentence for the user. */
export function readJson(cell: string, message: string): unknown {
  let read: ReturnType<typeof parseExactJson>;
  try {
    read = parseExactJson(cell);
  } catch {
    throw new Error(message);
  }
  const [detail] = read.details;
  if (detail) throw new Error(detail.message);
  return read.value;
}
