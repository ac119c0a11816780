import type { SqlEntityManager } from "@mikro-orm/sql";
import type { Table, Value } from "../tables.ts";

/** All that a database holds, as it was at one moment. */
export interface Snapshot {
  execute(statement: string): Promise<Record<string, unknown>[]>;
  /** The rows of a table, a few at a time, with their values in the order of the table's columns. */
  rows(table: Table): AsyncIterable<Value[][]>;
}

/** An empty database that is being filled; it reads what was written to it. */
export interface Filling extends Snapshot {
  /** Writes rows with all that the database derives from them. */
  insert(table: Table, rows: Value[][]): Promise<void>;
}

interface Owner {
  em: SqlEntityManager;
}

/** How all of a database is read and written. */
export interface Copying {
  /** A statement that gives the names of the tables that are there. */
  tableNames: string;
  /** What two URLs of the same database have in common. */
  identity(orm: Owner): Promise<string>;
  /** Runs `run` on one snapshot, which stays the same while others write. */
  read<T>(orm: Owner, run: (snapshot: Snapshot) => Promise<T>): Promise<T>;
  /** Keeps what `run` writes to these tables, or nothing of it when it throws or the program is ended. */
  fill<T>(orm: Owner, tables: Table[], run: (filling: Filling) => Promise<T>): Promise<T>;
  /**
   * Where a database is a file: has `make` fill another file, whose URL it is given, and gives that one the name of this
   * database, in the place of an empty one, which `refuseFull` looks at once more just before.
   */
  replace?<T>(make: (url: string) => Promise<T>, refuseFull: () => Promise<void>): Promise<T>;
}

/** How many rows are in memory at once, and copied with one statement. */
export const MOST_ROWS = 1_000;
const MOST_BYTES = 2_000_000;

/** Divides rows of these sizes into portions that fit in memory, as numbers of rows. */
export function* portions(sizes: Iterable<number>): Generator<number> {
  let count = 0;
  let bytes = 0;
  for (const size of sizes) {
    if (count > 0 && (count === MOST_ROWS || bytes + size > MOST_BYTES)) {
      yield count;
      count = 0;
      bytes = 0;
    }
    count += 1;
    bytes += size;
  }
  if (count > 0) yield count;
}

/** A row in a sentence: by its table and its key. */
export function nameOf({ name, columns, key }: Table, row: Value[]): string {
  return `the row ${key.map((column) => row[columns.indexOf(column)]).join(", ")} of the table ${name}`;
}
