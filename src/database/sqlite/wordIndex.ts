import type { Statement } from "better-sqlite3";
import type { Insert } from "../inserts.ts";

const LAST = "select coalesce(max(id), 0) as last from log_texts_docsize";
const ADD =
  "insert into log_texts (rowid, workspace, input, output) select search_id, workspace, input, output from log_words where search_id > ?";

/**
 * Assigns ids in the full-text index to the logs among the rows to insert. Call the returned function after the insert: it
 * indexes the words of all these logs at once. A trigger indexes logs without an id, which takes SQLite longer: see the
 * migration that made it.
 */
export function assignSearchIds(inserts: Insert[], prepare: (statement: string) => Statement): () => void {
  const logs = inserts.filter(({ entity }) => entity === "Log");
  if (logs.length === 0) return () => {};
  const [{ last }] = prepare(LAST).all([]) as [{ last: number }];
  let next = last;
  for (const { fields, rows } of logs) {
    const at = fields.indexOf("searchId");
    for (const values of rows) values[at] = ++next;
  }
  return () => void prepare(ADD).run([last]);
}
