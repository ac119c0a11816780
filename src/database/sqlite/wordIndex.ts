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

/**
 * The share of a segment of the full-text index that is removed, in percent, before SQLite writes the segment again without
 * it. With its default of 10 it writes the words of the logs that stay ten times over while the old ones go: removing logs
 * then takes five times as long. With 90 it has ten times as much to read for what it writes in a step.
 */
const DELETE_MERGE = 50;
const STORED = "select v from log_texts_config where k = 'deletemerge'";
const STORE = `insert into log_texts (log_texts, rank) values ('deletemerge', ${DELETE_MERGE})`;

/** A commit rewrites as much of the index for each 64 logs that it removes: more rows make the longest step longer. */
export const MAX_REMOVED_ROWS = 128;

/** Has the full-text index keep the words of removed logs longer; stored in the index for good. */
export function keepRemovedWords(prepare: (statement: string) => Statement): void {
  const [stored] = prepare(STORED).all([]) as { v: number }[];
  if (stored?.v !== DELETE_MERGE) prepare(STORE).run([]);
}
