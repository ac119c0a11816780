import { type Expression, type Kysely, type RawBuilder, type SqlBool, sql, type Transaction } from "kysely";
import { createFairQueue } from "../../limits/fairQueue.ts";
import { wasTimedOut } from "../driverErrors.ts";
import {
  type Key,
  lowered,
  type Member,
  SEARCH_BUSY,
  SEARCH_LIMIT_MS,
  type Search,
  searchTookTooLong,
} from "../search.ts";
import { phrasesOf, textsOf, wordsIn } from "../words.ts";
import { summedParts } from "./sums.ts";

const MAX_WAITING = 100;
const MAX_WAIT_MS = 5_000;

/** A lexeme has at most 2,046 bytes. */
const LONGEST_LEXEME = 400;

interface Query {
  workspaceId: string;
  /** For the full-text index: the workspace and all words, wherever they stand. */
  lexemes: string;
  /** What the text of a log must have in it, word by word, such as `% capital of kenya %`. */
  patterns: string[];
}

/**
 * The words of a log stand in `log_texts.body` with single spaces between them; the full-text index has them without
 * their places, which PostgreSQL would keep of no more than 256 a word. So phrases are looked for in the text itself.
 */
export function createPostgresqlSearch(read: Kysely<never>, places: number): Search<Query> {
  const run = createRunner(read, places);
  const lookUp = (workspaceId: string, query: RawBuilder<{ key: Key }>): Promise<Key[]> =>
    run(workspaceId, async (transaction) => {
      await sql`set local enable_bitmapscan = on`.execute(transaction); // as no other statement has it
      return (await query.execute(transaction)).rows.map(({ key }) => key);
    });
  return {
    key: "id",

    query: (workspaceId, text) => {
      const phrases = phrasesOf(text).map(({ text, isBeginning }) => ({ words: wordsIn(text), isBeginning }));
      const lexemes = phrases.flatMap(({ words, isBeginning }) =>
        words.map((word, at) => {
          const isCut = [...word].length > LONGEST_LEXEME;
          const goesOn = isBeginning && at === words.length - 1 && !isCut;
          return `'${[...word].slice(0, LONGEST_LEXEME).join("")}'${goesOn ? ":*" : ""}`;
        }),
      );
      return {
        workspaceId,
        lexemes: [`'${workspaceMark(workspaceId)}'`, ...lexemes].join(" & "),
        patterns: phrases.map(({ words, isBeginning }) => `% ${words.join(" ")}${isBeginning ? "" : " "}%`),
      };
    },

    find: (query, most) => lookUp(query.workspaceId, keysOf(query, most)),

    among: async ({ workspaceId, patterns }, keys) =>
      new Set(
        await lookUp(
          workspaceId,
          sql`select log_id as "key" from log_texts where log_id = any(cast(${keys} as uuid[])) and ${hasAll(patterns)}`,
        ),
      ),

    // LIKE begins anew at each letter: 1.2 s for a megabyte.
    contains: (column, wanted) => sql<SqlBool>`strpos(lower(${column}), ${lowered(wanted)}) > 0`,

    findIds: (workspaceId, query) =>
      run(workspaceId, async (transaction) => {
        const { rows } = await transaction.executeQuery(query.compile());
        return rows.map(({ id }) => id);
      }),

    findByMembers: (workspaceId, members, most) =>
      lookUp(workspaceId, keysByMembers(workspaceId, members, most)),

    // In a stretch of logs, where the index of the metadata would give all there are.
    hasMember: (object, member) => hasMember(sql`coalesce(${object}, ${object})`, member),

    unindexed: (column) => sql`coalesce(${column}, ${column})`,

    isServer: true,

    // An entry of an index has at most 2,700 bytes, and slugs and ids of users may be longer.
    leads: (column, value) =>
      sql<SqlBool>`(left(${column}, 256) = left(cast(${value} as text), 256) and ${column} = ${value})`,

    summedParts,

    close: async () => {},
  };
}

/** Runs searches in transactions of their own, each for a limited time, some at once; workspaces take turns. */
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

/** The keys of what a query finds, along the full-text index. */
export function keysOf({ lexemes, patterns }: Query, most: number): RawBuilder<{ key: Key }> {
  return sql`select log_id as "key" from log_texts where log_words(workspace_id, body) @@ cast(${lexemes} as tsquery) and ${hasAll(patterns)} limit ${most}`;
}

/** The keys of the logs whose metadata has all these members, along the index of the metadata. */
export function keysByMembers(
  workspaceId: string,
  members: Member[],
  most: number,
): RawBuilder<{ key: Key }> {
  const hasThem = sql.join(
    members.map((member) => hasMember(sql.ref("metadata"), member)),
    sql` and `,
  );
  // Never by an index of the workspace.
  return sql`select id as "key" from logs where ${hasThem} and coalesce(workspace_id, workspace_id) = ${workspaceId} limit ${most}`;
}

function hasMember(object: Expression<unknown>, { key, value }: Member): RawBuilder<SqlBool> {
  return sql<SqlBool>`cast(${object} as jsonb) @> cast(${JSON.stringify({ [key]: value })} as jsonb)`;
}

function hasAll(patterns: string[]): RawBuilder<SqlBool> {
  return sql.join(
    patterns.map((pattern) => sql`body like ${pattern}`),
    sql` and `,
  );
}

/** No word has such signs in it. */
function workspaceMark(workspaceId: string): string {
  return `workspace-${workspaceId}`;
}

/** Between input and output: no word, so that no phrase runs over from one to the other. */
const BORDER = "|";

/** The words of a log as they are kept; with a plus before them when none is longer than a lexeme may be. */
export function bodyOf({ input, output }: Record<string, unknown>): string {
  const [asked, answered] = [wordsIn(textsOf(input)), wordsIn(textsOf(output))];
  const isShort = (word: string) => word.length <= LONGEST_LEXEME;
  const mark = asked.every(isShort) && answered.every(isShort) ? "+" : "";
  return `${mark} ${[...asked, BORDER, ...answered].join(" ")} `;
}

/** Keeps the words of new logs for the full-text index. */
export async function insertWords(
  transaction: Transaction<never>,
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
