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

/**
 * For a dataset: what its rows keep of values that came by the names of columns; `omitted` names those that no column
 * has.
 */
export function storing({ columns }: Pick<Columns, "columns">) {
  const keys = new Map(columns.map((column) => [column.name, keyOf(column)]));
  return (values: Values): { stored: Values; omitted: string[] } => translate(values, keys, "stored");
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

/**
 * The columns with new ones at the end. A new column takes the key of a removed one of the same name, so that its values
 * come back, else a free key.
 */
export function withColumns({ columns, removedColumns }: Columns, added: Column[]): Columns {
  const taken = new Set([...columns, ...removedColumns].map(keyOf));
  const removed = new Map(removedColumns.map((column) => [column.name, keyOf(column)]));
  const keyFor = (name: string) => {
    let key = removed.get(name) ?? name;
    for (let n = 2; taken.has(key) && key !== removed.get(name); n++) key = `${name}#${n}`;
    taken.add(key);
    return key;
  };
  const made = added.map(({ name, type }) => ({ name, type, key: keyFor(name) }));
  const back = new Set(made.map(keyOf));
  return {
    columns: [...columns, ...made],
    removedColumns: removedColumns.filter((column) => !back.has(keyOf(column))),
  };
}
