import { raw } from "@mikro-orm/core";
import {
  type Expression,
  type Kysely,
  type QueryExecutorProvider,
  type RawBuilder,
  type SqlBool,
  sql,
  type Transaction,
} from "kysely";
import { createFairQueue } from "../../limits/fairQueue.ts";
import { wordsIn } from "../../limits/words.ts";
import { wasTimedOut } from "../driverErrors.ts";
import {
  type Key,
  type Member,
  SEARCH_BUSY,
  SEARCH_LIMIT_MS,
  type Search,
  searchTookTooLong,
  toAsciiLowerCase,
} from "../search.ts";
import { phrasesOf, textsOf } from "../words.ts";
import { summedParts } from "./sums.ts";

const MAX_WAITING = 100;
const MAX_WAIT_MS = 5_000;

/** A lexeme has at most 2,046 bytes, with the mark of its workspace. */
const MAX_LEXEME_CHARACTERS = 400;

interface Query {
  workspaceId: string;
  /** The query of the full-text index: all words of the workspace, at any position. */
  lexemes: string;
  /** LIKE patterns of the phrases that the text of a log must contain, such as `% capital of kenya %`. */
  patterns: string[];
}

/**
 * `log_texts.body` has the words of a log, separated by single spaces. The full-text index has no positions, because
 * PostgreSQL stores at most 256 of them per word, so phrases are found in the text itself.
 */
export function createPostgresqlSearch(read: Kysely<never>, places: number): Search<Query> {
  const run = createRunner(read, places);
  const lookUp = (workspaceId: string, query: RawBuilder<{ key: Key }>): Promise<Key[]> =>
    run(workspaceId, async (transaction) => {
      await sql`set local enable_bitmapscan = on`.execute(transaction); // PLANNING disables it for all other statements
      return (await query.execute(transaction)).rows.map(({ key }) => key);
    });
  return {
    key: "id",

    query: (workspaceId, text) => {
      const phrases = phrasesOf(text).map(({ text, isPrefix }) => ({ words: wordsIn(text), isPrefix }));
      const lexemes = phrases.flatMap(({ words, isPrefix }) =>
        words.map((word, at) => {
          const isCut = [...word].length > MAX_LEXEME_CHARACTERS;
          const isPrefixWord = isPrefix && at === words.length - 1 && !isCut;
          return `'${markOf(workspaceId)}${[...word].slice(0, MAX_LEXEME_CHARACTERS).join("")}'${isPrefixWord ? ":*" : ""}`;
        }),
      );
      return {
        workspaceId,
        lexemes: lexemes.join(" & "),
        patterns: phrases.map(({ words, isPrefix }) => `% ${words.join(" ")}${isPrefix ? "" : " "}%`),
      };
    },

    find: (query, limit) => lookUp(query.workspaceId, keysOf(query, limit)),

    filterKeys: async ({ workspaceId, patterns }, keys) =>
      new Set(
        await lookUp(
          workspaceId,
          sql`select log_id as "key" from log_texts where log_id = any(cast(${keys} as uuid[])) and ${hasAll(patterns)}`,
        ),
      ),

    // LIKE restarts at each letter: 1.2 s for a megabyte.
    contains: (column, substring) =>
      sql<SqlBool>`strpos(lower(${column}), ${toAsciiLowerCase(substring)}) > 0`,

    findIds: (workspaceId, query) =>
      run(workspaceId, async (transaction) => {
        const { rows } = await transaction.executeQuery(query.compile());
        return rows.map(({ id }) => id);
      }),

    findRows: (workspaceId, query) =>
      run(workspaceId, async (transaction) => (await transaction.executeQuery(query.compile())).rows),

    findByMembers: (workspaceId, members, limit) =>
      lookUp(workspaceId, keysByMembers(workspaceId, members, limit)),

    hasMembers,

    unindexed: (column) => sql`coalesce(${column}, ${column})`,

    unestimated: (workspaceId) => sql`(select cast(${workspaceId} as uuid))`,

    unestimatedFilter: (workspaceId) => ({
      workspace: { workspaceId: raw("(select cast(? as uuid))", [workspaceId]) },
    }),

    isServer: true,

    // An entry of an index has at most 2,700 bytes, and slugs and ids of users may be longer.
    indexedEquals: (column, value) =>
      sql<SqlBool>`(left(${column}, 256) = left(cast(${value} as text), 256) and ${column} = ${value})`,

    summedParts,

    close: async () => {},
  };
}

/** Runs each search in a transaction of its own with a time limit, at most `places` at once; workspaces take turns. */
function createRunner(read: Kysely<never>, places: number) {
  const queue = createFairQueue({
    places,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    busy: SEARCH_BUSY,
  });
  return <Found>(workspaceId: string, find: (transaction: Transaction<never>) => Promise<Found>) =>
    queue.run(workspaceId, () =>
      read.transaction().execute(async (transaction) => {
        await sql.raw(`set local statement_timeout = ${SEARCH_LIMIT_MS}`).execute(transaction);
        return find(transaction).catch((error) => {
          throw wasTimedOut(error) ? searchTookTooLong(error) : error;
        });
      }),
    );
}

/** The keys of the logs that match a query, by the full-text index. */
export function keysOf({ workspaceId, lexemes, patterns }: Query, limit: number): RawBuilder<{ key: Key }> {
  return sql`select log_id as "key" from log_texts where log_lexemes(workspace_id, body) @@ cast(${lexemes} as tsquery) and workspace_id = ${workspaceId} and ${hasAll(patterns)} limit ${limit}`;
}

/** Replaces a member of that name, which metadata itself hardly has; the index alone therefore decides nothing. */
const WORKSPACE_MEMBER = "workspace-";

/**
 * Metadata with its workspace, as the index has it. PostgreSQL parses the metadata of each log that an index of all workspaces finds:
 * 100 logs of 400 kB of somebody else had a filter for the same member take more than 5 s.
 */
export const METADATA_OF_WORKSPACE = `(cast("metadata" as jsonb) || cast('{"${WORKSPACE_MEMBER}":"' || cast("workspace_id" as text) || '"}' as jsonb))`;

/** The keys of the logs whose metadata has all these members, by the index of the metadata. */
export function keysByMembers(
  workspaceId: string,
  members: Member[],
  limit: number,
): RawBuilder<{ key: Key }> {
  const indexed = Object.fromEntries(members.map(({ key, value }) => [key, value]));
  const wanted = JSON.stringify({ ...indexed, [WORKSPACE_MEMBER]: workspaceId });
  // `coalesce` keeps the planner from an index of the workspace.
  return sql`select id as "key" from logs where ${sql.raw(METADATA_OF_WORKSPACE)} @> cast(${wanted} as jsonb) and ${hasMembers(sql.ref("metadata"), members)} and coalesce(workspace_id, workspace_id) = ${workspaceId} limit ${limit}`;
}

function hasMembers(object: Expression<unknown>, members: Member[]): RawBuilder<SqlBool> {
  const conditions = members.map(
    ({ key, value }) => sql`cast(${object} as jsonb) @> cast(${JSON.stringify({ [key]: value })} as jsonb)`,
  );
  return sql<SqlBool>`(${sql.join(conditions, sql` and `)})`;
}

function hasAll(patterns: string[]): RawBuilder<SqlBool> {
  return sql.join(
    patterns.map((pattern) => sql`body like ${pattern}`),
    sql` and `,
  );
}

/** Stands before each word in the index, so that a prefix reads no words of others. Two workspaces hardly ever have the same. */
function markOf(workspaceId: string): string {
  return workspaceId.slice(-MARK_BYTES);
}

const MARK_BYTES = 8;
/**
 * Of an input or an output. All lexemes of a tsvector lie within 1 MB (2^20 bytes), which `array_to_tsvector` does not check: words
 * behind it became others, even with the mark of another workspace. Tens of thousands of single letters of three or four bytes,
 * each a word, take as much, and hardly anything else.
 */
const MAX_LEXEMES_BYTES = 520_000;

/** Stands between input and output. It is no word, so no phrase can span both. */
const BORDER = "|";

/** The stored words of a log; a leading plus marks that none of them is too long for a lexeme. */
export function bodyOf({ input, output }: Record<string, unknown>): string {
  const [inputWords, outputWords] = [wordsOf(input), wordsOf(output)];
  const isShort = (word: string) => word.length <= MAX_LEXEME_CHARACTERS;
  const mark = inputWords.every(isShort) && outputWords.every(isShort) ? "+" : "";
  return `${mark} ${[...inputWords, BORDER, ...outputWords].join(" ")} `;
}

/** The words of an input or an output, as many as fit into the index. */
function wordsOf(value: unknown): string[] {
  const words = wordsIn(textsOf(value));
  let bytes = 0;
  const end = words.findIndex((word) => {
    bytes += MARK_BYTES + Buffer.byteLength(word);
    return bytes > MAX_LEXEMES_BYTES;
  });
  return end === -1 ? words : words.slice(0, end);
}

/** Stores the words of new logs for the full-text index. */
export async function insertWords(
  transaction: QueryExecutorProvider,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== "Log") return;
  const [ids, workspaces] = (["id", "workspace"] as const).map((name) => rows.map((row) => row[name]));
  const bodies = rows.map(bodyOf);
  await sql`insert into log_texts (log_id, workspace_id, body) select * from unnest(cast(${ids} as uuid[]), cast(${workspaces} as uuid[]), cast(${bodies} as text[]))`.execute(
    transaction,
  );
}
