import { objectOf } from "../limits/members.ts";
import type { Column } from "./entities.ts";

type Values = Record<string, unknown>;

/** The columns of a dataset. */
export interface Columns {
  columns: Column[];
  removedColumns: Column[];
}

/** The key of a column's values in the rows; it stays when the column is renamed. */
export function keyOf({ key, name }: Column): string {
  return key ?? name;
}

/** Converts values by column name to values by column key; `omitted` has the names that are no column. */
export function valuesEncoder({ columns }: Pick<Columns, "columns">) {
  const keys = new Map(columns.map((column) => [column.name, keyOf(column)]));
  return (values: Values): RowValues => translate(values, keys);
}

/** Converts values by column key to values by column name; `omitted` names the columns that the dataset has no more. */
export function valuesDecoder({ columns, removedColumns }: Columns) {
  const names = new Map(columns.map((column) => [keyOf(column), column.name]));
  const removedNames = new Map(removedColumns.map((column) => [keyOf(column), column.name]));
  return (stored: Values): RowValues => {
    const { values, omitted } = translate(stored, names);
    return {
      values,
      omitted: omitted.length === 0 ? NONE : omitted.map((key) => removedNames.get(key) ?? key),
    };
  };
}

/** Counts the bytes of JSON that values by column name grow by when they are stored by column key, where keys are longer. */
export function bytesAddedByKeys({ columns }: Pick<Columns, "columns">): (values: Values) => number {
  const added = new Map<string, number>();
  for (const column of columns) {
    const bytes = bytesOfJson(keyOf(column)) - bytesOfJson(column.name);
    if (bytes > 0) added.set(column.name, bytes);
  }
  if (added.size === 0) return () => 0;
  return (values) => Object.keys(values).reduce((sum, name) => sum + (added.get(name) ?? 0), 0);
}

const bytesOfJson = (text: string) => Buffer.byteLength(JSON.stringify(text));

const NONE: string[] = [];

interface RowValues {
  values: Values;
  omitted: string[];
}

function translate(values: Values, names: Map<string, string>): RowValues {
  const keys = Object.keys(values);
  const isSame = keys.every((key) => names.get(key) === key);
  if (isSame) return { values, omitted: NONE };
  const entries = keys.flatMap((key) => (names.has(key) ? [[names.get(key), values[key]]] : []));
  const omitted = keys.filter((key) => !names.has(key));
  return { values: objectOf(entries as [string, unknown][]), omitted };
}

/**
 * The columns with new ones at the end. A new column takes the key of a removed one of the same name, so that its values
 * come back, else a free key.
 */
export function withColumns({ columns, removedColumns }: Columns, added: Column[]): Columns {
  const usedKeys = new Set([...columns, ...removedColumns].map(keyOf));
  const removedKeys = new Map(removedColumns.map((column) => [column.name, keyOf(column)]));
  const keyFor = (name: string) => {
    let key = removedKeys.get(name) ?? name;
    for (let n = 2; usedKeys.has(key) && key !== removedKeys.get(name); n++) key = `${name}#${n}`;
    usedKeys.add(key);
    return key;
  };
  const created = added.map(({ name, type }) => {
    const key = keyFor(name);
    return key === name ? { name, type } : { name, type, key };
  });
  const back = new Set(created.map(keyOf));
  return {
    columns: [...columns, ...created],
    removedColumns: removedColumns.filter((column) => !back.has(keyOf(column))),
  };
}
