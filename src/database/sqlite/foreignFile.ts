import Database from "better-sqlite3";

export type ForeignRow = Record<string, unknown>;

/** The SQLite file of another program, which is only read. Throws when it is none, or lacks one of the tables. */
export function openForeignFile(path: string, tables: string[]) {
  const database = open(path);
  const named = database.prepare<[], { name: string }>("select name from sqlite_master where type = 'table'");
  const found = new Set(named.all().map(({ name }) => name));
  const missing = tables.filter((table) => !found.has(table));
  if (missing.length > 0) {
    database.close();
    throw new Error(`${path} has no table ${missing.join(", ")}.`);
  }
  return {
    /** The rows of a query, one by one. */
    rows: (query: string): IterableIterator<ForeignRow> => database.prepare<[], ForeignRow>(query).iterate(),
    close: (): void => void database.close(),
  };
}

function open(path: string) {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true });
    database.prepare("select count(*) from sqlite_master").get();
    return database;
  } catch (cause) {
    throw new Error(`${path} cannot be read as an SQLite file: ${(cause as Error).message}.`, { cause });
  }
}
