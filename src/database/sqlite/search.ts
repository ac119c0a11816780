import { stat } from "node:fs/promises";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { createWorkerProcesses } from "../../limits/workerProcesses.ts";
import {
  type Key,
  type Member,
  SEARCH_BUSY,
  SEARCH_LIMIT_MS,
  type Search,
  searchEnded,
  searchTookTooLong,
  toAsciiLowerCase,
} from "../search.ts";
import { phrasesOf } from "../words.ts";
import type { SearchAnswer, SearchTask } from "./searchProcess.ts";

interface Query {
  workspaceId: string;
  /** The query in the syntax of the full-text index. */
  match: string;
}

const HEAP_MB = 128;

/**
 * While a search reads, its snapshot keeps SQLite from copying the write-ahead log to the file, and the commit that follows
 * copies all at once: 600 MB took 0.6 s. So beyond this size no search goes on for longer than a quarter of a second.
 */
const MAX_WAL_BYTES = 48 * 1024 * 1024;
const MAX_MS_BEYOND = 250;
const FIND = "select rowid from log_texts where log_texts match ?";
// Numbers are bound as floating-point values, which the index does not use as bounds: without casts it would read all rows.
const WITHIN = "and rowid between cast(? as integer) and cast(? as integer)";

/** Searches in processes beside the server, which start at the first search and open the file read-only. */
export function createSqliteSearch(file: string): Search<Query> {
  const walBytes = async () => (await stat(`${file}-wal`).catch(() => null))?.size ?? 0;
  const processes = createWorkerProcesses<SearchTask, SearchAnswer>({
    file: new URL("./searchProcess.ts", import.meta.url),
    args: [file],
    heapMb: HEAP_MB,
    busy: SEARCH_BUSY,
    mustEnd: async (runningMs) => runningMs > MAX_MS_BEYOND && (await walBytes()) > MAX_WAL_BYTES,
  });
  const run = async <Value>(workspaceId: string, task: SearchTask): Promise<Value[]> => {
    const sinceMs = performance.now();
    const answer = await processes.run(workspaceId, task, SEARCH_LIMIT_MS);
    if (!answer) throw performance.now() - sinceMs < SEARCH_LIMIT_MS ? searchEnded() : searchTookTooLong();
    if ("error" in answer) throw new Error(`The search failed: ${answer.error}.`);
    return answer.values as Value[];
  };
  return {
    key: "searchId",

    query: (workspaceId, text) => {
      const phrases = phrasesOf(text).map((phrase) => `"${phrase.text}"${phrase.isPrefix ? " *" : ""}`);
      const workspace = workspaceId.replaceAll("-", "");
      return {
        workspaceId,
        match: `workspace : "${workspace}" AND {input output} : (${phrases.join(" AND ")})`,
      };
    },

    // Latest first: most searches look for recent logs.
    find: ({ workspaceId, match }, limit) =>
      run(workspaceId, { sql: `${FIND} order by rowid desc limit ?`, values: [match, limit] }),

    filterKeys: async ({ workspaceId, match }, keys) => {
      if (keys.length === 0) return new Set();
      const ids = keys as number[];
      const values = [match, Math.min(...ids), Math.max(...ids)];
      return new Set(await run<Key>(workspaceId, { sql: `${FIND} ${WITHIN}`, values, ids }));
    },

    // LIKE compares letter by letter and takes up to 17 times as long.
    contains: (column, substring) =>
      sql<SqlBool>`instr(lower(${column}), ${toAsciiLowerCase(substring)}) > 0`,

    findIds: (workspaceId, query) => {
      const { sql, parameters } = query.compile();
      return run(workspaceId, { sql, values: parameters });
    },

    // One pass, as SQLite parses the object again for each `json_each`: a member is counted as the one that it is, and each of those
    // once.
    hasMembers: (object, members) => {
      const wanted = new Map(members.map((member) => [JSON.stringify([member.key, member.value]), member]));
      const cases = wanted.values().map((member, n) => sql`when ${isMember(member)} then ${sql.lit(n)}`);
      return sql<SqlBool>`(select count(distinct case ${sql.join([...cases], sql` `)} end) from json_each(${object}) as member where ${hasOneOf(members)}) = ${sql.lit(wanted.size)}`;
    },

    // Without statistics SQLite assumes that any equality matches few rows.
    unindexed: (column) => sql`+${column}`,

    unestimated: (workspaceId) => sql`${workspaceId}`, // its statistics have no single values

    unestimatedFilter: () => ({}),

    isServer: false,

    indexedEquals: (column, value) => sql<SqlBool>`${column} = ${value}`,

    summedParts: [sql<SqlBool>`true`],

    close: async () => processes.close(),
  };
}

/**
 * Whether a member has one of the keys. Without it SQLite would compare ten members with all of the object, which takes eight
 * times as long. Keys are compared with those of their length alone, as SQLite copies the key sought for each comparison: five
 * logs of 99,000 members and ten keys of 12 kB took 1.2 s.
 */
function hasOneOf(members: Member[]): RawBuilder<SqlBool> {
  const byBytes = Map.groupBy(new Set(members.map(({ key }) => key)), (key) => Buffer.byteLength(key));
  const cases = byBytes
    .entries()
    .map(([bytes, keys]) => sql`when ${sql.lit(bytes)} then member.key in (${sql.join(keys)})`);
  return sql`case octet_length(member.key) ${sql.join([...cases], sql` `)} end`;
}

function isMember({ key, value }: Member): RawBuilder<SqlBool> {
  const isEqual =
    typeof value === "string"
      ? sql`member.type = 'text' and member.value = ${value}`
      : typeof value === "number"
        ? sql`member.type in ('integer', 'real') and member.value = ${value}`
        : sql`member.type = ${String(value)}`;
  return sql<SqlBool>`member.key = ${key} and ${isEqual}`;
}
