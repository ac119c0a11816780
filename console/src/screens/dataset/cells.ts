import type { ColumnType, GridRowFragment } from "../../gql/graphql.ts";

export type Row = GridRowFragment;

/** A column of the grid: one of the dataset, or the ideal output that every row has. */
export interface GridColumn {
  key: string;
  title: string;
  type: ColumnType;
  isIdealOutput: boolean;
}

export function gridColumnsOf(columns: readonly { name: string; type: ColumnType }[]): GridColumn[] {
  const own = columns.map(({ name, type }) => ({
    key: `value ${name}`,
    title: name,
    type,
    isIdealOutput: false,
  }));
  return [...own, { key: "ideal", title: "Ideal output", type: "TEXT" as const, isIdealOutput: true }];
}

export const valueIn = (row: Row, { title, isIdealOutput }: GridColumn): unknown =>
  isIdealOutput ? row.idealOutput : valueUnder(row.values, title);

/** The value under the name of a column, which may also be that of a method of all objects, such as `constructor`. */
export const valueUnder = (values: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** The value as text to edit: a string as it is, anything else as JSON. */
export function toText(value: unknown): string {
  if (value == null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The text of a cell. In a column of JSON, a string that would be read as something else has its quotation marks. */
export function textOf(row: Row, column: GridColumn): string {
  const value = valueIn(row, column);
  const isMisread = typeof value === "string" && toValue(value, value, column) !== value;
  return isMisread ? JSON.stringify(value) : toText(value);
}

/** The value that an edited text stands for: JSON in columns of JSON and where JSON was before, as far as it is any. */
export function toValue(text: string, before: unknown, { type, isIdealOutput }: GridColumn): unknown {
  const isJson = !isIdealOutput && (type === "JSON" || (before != null && typeof before !== "string"));
  if (!isJson) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The row with another value in one of its cells. */
export function withValue(row: Row, { title, isIdealOutput }: GridColumn, value: unknown): Row {
  return isIdealOutput
    ? { ...row, idealOutput: toText(value) }
    : { ...row, values: { ...row.values, [title]: value } };
}
