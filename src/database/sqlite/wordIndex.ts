import type { Statement } from "better-sqlite3";
import type { Steps } from "../dialect.ts";
import type { Insert } from "../inserts.ts";

const LAST = "select coalesce(max(id), 0) as last from log_texts_docsize";
const ADD =
  "insert into log_texts (rowid, workspace, input, output) select search_id, workspace, input, output from log_words where search_id > ?";

// A statement with a SELECT, and the insert of a log after words, has SQLite write a segment of what was indexed until then.
const ADD_ONE = `insert into log_texts (rowid, workspace, input, output) values (:id, ${["workspace", "input", "output"].map((column) => `(select ${column} from log_words where search_id = :id)`)})`;

type Prepare = (statement: string) => Statement;

/**
 * Assigns ids in the full-text index to the logs among rows, before their insert, and indexes their words afterwards. A trigger
 * indexes logs without an id, which takes SQLite longer: see the migration that made it. Insert all logs of a transaction before
 * their words: 512 logs that are inserted and indexed 20 at a time take 150 instead of 95 microseconds each.
 */
export function createWordIndexer(prepare: Prepare) {
  let [last, next]: [number | undefined, number] = [undefined, 0];
  return {
    assignIds: (inserts: Insert[]): void => {
      for (const { entity, fields, rows } of inserts) {
        if (entity !== "Log") continue;
        if (last === undefined) [{ last }] = prepare(LAST).all([]) as [{ last: number }];
        const at = fields.indexOf("searchId");
        for (const values of rows) values[at] = last + ++next;
      }
    },
    indexAll: (): void => {
      if (last !== undefined) prepare(ADD).run([last]);
    },
    /** Takes a tenth longer in all. */
    indexInPieces: async (pause: () => Promise<void>): Promise<void> => {
      for (let n = 1; n <= next; n++) {
        await pause();
        prepare(ADD_ONE).run({ id: last! + n });
      }
    },
  };
}

/** A commit rewrites as much of the index for each 64 logs that it removes: more rows make the longest step longer. */
export const MAX_REMOVED_ROWS = 128;

const CHANGES = "select total_changes() as changes";
/** Writes up to 64 pages of the merged segments. */
const MERGE = "insert into log_texts (log_texts, rank) values ('merge', 64)";

/**
 * Merges a part of what is due in the full-text index, in a transaction; false when nothing is. SQLite does this by itself with
 * later writes, but bounds only what it writes: of segments whose logs are removed it reads all in one commit, which took 2.3 s
 * after 640 of 1,000 logs with 16,000 words each. Where half of a segment is left, as it is when merges keep up with removals,
 * it reads twice of what it writes.
 */
export function* mergeWords(): Steps<boolean> {
  const [before] = yield { statement: CHANGES, values: [] };
  yield { statement: MERGE, values: [] };
  const [after] = yield { statement: CHANGES, values: [] };
  return Number(after!.changes) - Number(before!.changes) > 1; // https://sqlite.org/fts5.html#the_merge_command
}
