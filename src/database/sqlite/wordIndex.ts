import type { Statement } from "better-sqlite3";
import type { Steps } from "../dialect.ts";
import type { Insert } from "../inserts.ts";
import { createWordFilter, mayCollide } from "./collidingWords.ts";

const LAST = "select coalesce(max(id), 0) as last from log_texts_docsize";
const ADD =
  "insert into log_texts (rowid, workspace, input, output) select search_id, workspace, input, output from log_words where search_id > ?";

const TEXTS = "select workspace, input, output from log_words where search_id = ?";
// A statement with a SELECT, and the insert of a log after words, has SQLite write a segment of what was indexed until then.
const ADD_ONE = "insert into log_texts (rowid, workspace, input, output) values (?, ?, ?, ?)";

/** The words of a shorter transaction are too few to take long, whatever they are: its length is that of its JSON. */
const UNFILTERED_LENGTH = 8 * 1024;

interface Texts {
  workspace: string;
  input: string | null;
  output: string | null;
}

type Prepare = (statement: string) => Statement;

/**
 * Assigns ids in the full-text index to the logs among rows, before their insert, and indexes their words afterwards. A trigger
 * indexes logs without an id, which takes SQLite longer: see the migration that made it. Insert all logs of a transaction before
 * their words: 512 logs that are inserted and indexed 20 at a time take 150 instead of 95 microseconds each.
 */
export function createWordIndexer(prepare: Prepare) {
  let [last, next]: [number | undefined, number] = [undefined, 0];
  const texts: string[] = [];
  const mustFilter = () =>
    texts.reduce((length, text) => length + text.length, 0) > UNFILTERED_LENGTH && mayCollide(texts);
  const ids = () => Array.from({ length: next }, (_, n) => last! + n + 1);
  const indexFiltered = (id: number, filter: (text: string) => string): void => {
    const [{ workspace, input, output }] = prepare(TEXTS).all([id]) as [Texts];
    prepare(ADD_ONE).run([id, workspace, input && filter(input), output && filter(output)]);
  };
  return {
    assignIds: (inserts: Insert[]): void => {
      for (const { entity, fields, rows } of inserts) {
        if (entity !== "Log") continue;
        if (last === undefined) [{ last }] = prepare(LAST).all([]) as [{ last: number }];
        const [at, input, output] = ["searchId", "input", "output"].map((field) => fields.indexOf(field));
        for (const values of rows) {
          values[at!] = last + ++next;
          for (const json of [values[input!], values[output!]])
            if (typeof json === "string") texts.push(json);
        }
      }
    },
    indexAll: (): void => {
      if (mustFilter()) {
        const filter = createWordFilter();
        for (const id of ids()) indexFiltered(id, filter);
      } else if (last !== undefined) prepare(ADD).run([last]);
    },
    /** Takes a tenth longer in all. */
    indexInPieces: async (pause: () => Promise<void>): Promise<void> => {
      const filter = mustFilter() ? createWordFilter() : (text: string) => text;
      for (const id of ids()) {
        await pause();
        indexFiltered(id, filter);
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
