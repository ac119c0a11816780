import Database from "better-sqlite3";

// Runs in a thread of its own. The full-text index answers in one go, and a prefix or a phrase of common words takes it a
// second over a million logs.

export interface Search {
  file: string;
  /** In the language of the full-text index. */
  query: string;
  /** Only these entries; all when absent. */
  among?: number[];
  /** The latest so many; all when absent. */
  most?: number;
}

/** The entries of the full-text index that a query finds. */
export function search({ file, query, among, most = -1 }: Search): number[] {
  const database = open(file);
  if (!among)
    return database.prepare(`${FIND} order by rowid desc limit ?`).pluck().all(query, most) as number[];
  const wanted = new Set(among);
  const bounds = [Math.min(...among), Math.max(...among)];
  const found: number[] = [];
  for (const entry of database
    .prepare(`${FIND} ${WITHIN}`)
    .pluck()
    .iterate(query, ...bounds))
    if (wanted.has(entry as number)) found.push(entry as number);
  return found;
}

const FIND = "select rowid from log_texts where log_texts match ?";
// Numbers are bound as floating-point ones, which the index does not take for bounds: it would read all it has.
const WITHIN = "and rowid between cast(? as integer) and cast(? as integer)";

const databases = new Map<string, Database.Database>();

function open(file: string): Database.Database {
  const known = databases.get(file);
  if (known) return known;
  const database = new Database(file, { readonly: true, fileMustExist: true });
  databases.set(file, database);
  return database;
}
