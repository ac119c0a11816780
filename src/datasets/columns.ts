import type { Column } from "./entities.ts";

type Values = Record<string, unknown>;

/** A dataset as far as its columns go. */
export interface Columns {
  columns: Column[];
  removedColumns: Column[];
}

/** Under which key the rows keep the values of a column; it outlives the column's name. */
export function keyOf({ key, name }: Column): string {
  return key ?? name;
}

/** What rows keep of values that came by the names of columns; `omitted` names those that no column has. */
export function toStored(
  values: Values,
  { columns }: Pick<Columns, "columns">,
): { stored: Values; omitted: string[] } {
  return translate(values, new Map(columns.map((column) => [column.name, keyOf(column)])), "stored");
}

/**
 * For the rows of a dataset: what of a row's values its columns show, by their names; `omitted` names the columns of those
 * that none shows.
 */
export function showing({ columns, removedColumns }: Columns) {
  const names = new Map(columns.map((column) => [keyOf(column), column.name]));
  const removed = new Map(removedColumns.map((column) => [keyOf(column), column.name]));
  return (stored: Values): { shown: Values; omitted: string[] } => {
    const { shown, omitted } = translate(stored, names, "shown");
    return { shown, omitted: omitted.length === 0 ? NONE : omitted.map((key) => removed.get(key) ?? key) };
  };
}

const NONE: string[] = [];

type Translated<As extends string> = Record<As, Values> & { omitted: string[] };

function translate<As extends "stored" | "shown">(values: Values, names: Map<string, string>, as: As) {
  const keys = Object.keys(values);
  const isSame = keys.every((key) => names.get(key) === key);
  if (isSame) return { [as]: values, omitted: NONE } as Translated<As>;
  const kept = keys.flatMap((key) => (names.has(key) ? [[names.get(key), values[key]]] : []));
  const omitted = keys.filter((key) => !names.has(key));
  return { [as]: Object.fromEntries(kept), omitted } as Translated<As>;
}

/** A key for a new column: that of a removed column of the same name, so that its values come back, else a free one. */
export function keyForNew(name: string, { columns, removedColumns }: Columns): string {
  const removed = removedColumns.findLast((column) => column.name === name);
  if (removed) return keyOf(removed);
  const taken = new Set([...columns, ...removedColumns].map(keyOf));
  let key = name;
  for (let n = 2; taken.has(key); n++) key = `${name}#${n}`;
  return key;
}
