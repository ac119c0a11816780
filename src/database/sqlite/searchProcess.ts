import Database from "better-sqlite3";

// A query of SQLite cannot be interrupted except by ending its process. A prefix or a phrase of common words takes the
// full-text index a second over a million logs.

/** A query of one column. */
export interface SearchTask {
  sql: string;
  values: readonly unknown[];
  /** Limits the result to these ids. */
  ids?: number[];
}

export type SearchAnswer<Value = unknown> = { values: Value[] } | { error: string };

const database = new Database(process.argv[2]!, { readonly: true, fileMustExist: true });

process.on("message", (task: SearchTask) => process.send?.(answer(task)));
// Ctrl-C reaches all processes of a terminal, but the server still answers requests in flight.
process.on("SIGINT", () => {});
process.send?.("ready");

function answer({ sql, values, ids }: SearchTask): SearchAnswer {
  try {
    const statement = database.prepare(sql).pluck();
    if (!ids) return { values: statement.all(...values) };
    const idSet = new Set<unknown>(ids);
    const matches: unknown[] = [];
    for (const value of statement.iterate(...values)) if (idSet.has(value)) matches.push(value);
    return { values: matches };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
