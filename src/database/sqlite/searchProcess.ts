import Database from "better-sqlite3";

// SQLite answers in one go, however long it takes: a prefix or a phrase of common words takes the full-text index a second
// over a million logs. Nothing but the end of its process stops it.

/** A query of one column. */
export interface SearchTask {
  sql: string;
  values: readonly unknown[];
  /** Only these of the numbers that it finds; all when absent. */
  among?: number[];
}

export type SearchAnswer<Value = unknown> = { found: Value[] } | { error: string };

const database = new Database(process.argv[2]!, { readonly: true, fileMustExist: true });

process.on("message", (task: SearchTask) => process.send?.(answer(task)));
// Ctrl-C reaches all processes of a terminal; the server still answers what it has begun.
process.on("SIGINT", () => {});
process.send?.("ready");

function answer({ sql, values, among }: SearchTask): SearchAnswer {
  try {
    const statement = database.prepare(sql).pluck();
    if (!among) return { found: statement.all(...values) };
    const wanted = new Set<unknown>(among);
    const found: unknown[] = [];
    for (const value of statement.iterate(...values)) if (wanted.has(value)) found.push(value);
    return { found };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
