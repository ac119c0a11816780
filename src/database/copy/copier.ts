import type { SqlEntityManager } from "@mikro-orm/sql";
import type { Table, Value } from "../tables.ts";

/** The content of a database at one point in time. */
export interface Snapshot {
  execute(statement: string): Promise<Record<string, unknown>[]>;
  /** The rows of a table in portions; values are in the order of the table's columns. */
  rows(table: Table): AsyncIterable<Value[][]>;
}

/** The target of a copy; it reads its own writes. */
export interface CopyTarget extends Snapshot {
  /** Writes rows, and everything that the database derives from them. */
  insert(table: Table, rows: Value[][]): Promise<void>;
}

interface Owner {
  em: SqlEntityManager;
}

/** Reads and writes whole databases. */
export interface Copier {
  /** A statement that returns the names of the existing tables. */
  tableNames: string;
  /** Equal for two URLs of the same database, and only then. */
  identity(orm: Owner): Promise<string>;
  /** Runs `run` on one snapshot, which does not change while other programs write. */
  read<T>(orm: Owner, run: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /** Stores what `run` writes to these tables; stores nothing if it throws or the program ends. */
  fill<T>(orm: Owner, tables: Table[], run: (target: CopyTarget) => Promise<T>): Promise<T>;
  /**
   * For databases that are files: calls `make` with the URL of another file to fill, and then renames that file to this
   * database. Just before, `refuseNonEmpty` checks once more that an existing database is empty.
   */
  replace?<T>(make: (url: string) => Promise<T>, refuseNonEmpty: () => Promise<void>): Promise<T>;
}

/** Rows that are in memory at once, and copied with one statement. */
export const MAX_PORTION_ROWS = 1_000;
const MAX_PORTION_BYTES = 2_000_000;

/** Divides rows of these sizes into portions that fit in memory; yields the number of rows of each. */
export function* portions(sizes: Iterable<number>): Generator<number> {
  let count = 0;
  let bytes = 0;
  for (const size of sizes) {
    if (count > 0 && (count === MAX_PORTION_ROWS || bytes + size > MAX_PORTION_BYTES)) {
      yield count;
      count = 0;
      bytes = 0;
    }
    count += 1;
    bytes += size;
  }
  if (count > 0) yield count;
}

/** Names a row for a message, by its table and its key. */
export function describeRow({ name, columns, key }: Table, row: Value[]): string {
  return `the row ${key.map((column) => row[columns.indexOf(column)]).join(", ")} of the table ${name}`;
}
