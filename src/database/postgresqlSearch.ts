import { type Expression, type RawBuilder, type SqlBool, sql, type Transaction } from "kysely";
import type { Member, Search } from "./search.ts";
import { phrasesOf, textsOf, wordsIn } from "./words.ts";

/** A lexeme has at most 2,046 bytes. */
const LONGEST_LEXEME = 400;

interface Query {
  /** For the full-text index: the workspace and all words, wherever they stand. */
  lexemes: string;
  /** What the text of a log must have in it, word by word, such as `% capital of kenya %`. */
  patterns: string[];
}

/**
 * The words of a log stand in `log_texts.body` with single spaces between them; the full-text index has them without
 * their places, which PostgreSQL would keep of no more than 256 a word. So phrases are looked for in the text itself.
 */
export const postgresqlSearch: Search<Query> = {
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
      lexemes: [`'${workspaceMark(workspaceId)}'`, ...lexemes].join(" & "),
      patterns: phrases.map(({ words, isBeginning }) => `% ${words.join(" ")}${isBeginning ? "" : " "}%`),
    };
  },

  keys: ({ lexemes, patterns }, most) =>
    sql`select log_id as "key" from log_texts where log_words(workspace_id, body) @@ cast(${lexemes} as tsquery) and ${hasAll(patterns)} limit ${most}`,

  // As a value: the planner would turn an "exists" into a join, and read all texts there are.
  isFound: ({ patterns }, key) =>
    sql<SqlBool>`(select ${hasAll(patterns)} from log_texts where log_id = ${key})`,

  lookUp: (read, query) =>
    read.transaction().execute(async (transaction) => {
      await sql`set local enable_bitmapscan = on`.execute(transaction); // as no other statement has it
      return (await query.execute(transaction)).rows.map(({ key }) => key);
    }),

  keysByMembers: (workspaceId, members, most) => {
    const hasAll = sql.join(
      members.map((member) => hasMember(sql.ref("metadata"), member)),
      sql` and `,
    );
    // By the index of the metadata, never by one of the workspace.
    return sql`select id as "key" from logs where ${hasAll} and coalesce(workspace_id, workspace_id) = ${workspaceId} limit ${most}`;
  },

  // In a stretch of logs, where the index of the metadata would give all there are.
  hasMember: (object, member) => hasMember(sql`coalesce(${object}, ${object})`, member),

  unindexed: (column) => sql`coalesce(${column}, ${column})`,

  // An entry of an index has at most 2,700 bytes, and slugs and ids of users may be longer.
  leads: (column, value) =>
    sql<SqlBool>`(left(${column}, 256) = left(cast(${value} as text), 256) and ${column} = ${value})`,
};

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

/** Keeps the words of new logs for the full-text index. */
export async function insertWords(
  transaction: Transaction<never>,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== "Log") return;
  const [ids, workspaces] = (["id", "workspace"] as const).map((name) => rows.map((row) => row[name]));
  const bodies = rows.map(
    ({ input, output }) => ` ${[...wordsIn(textsOf(input)), ...wordsIn(textsOf(output))].join(" ")} `,
  );
  await sql`insert into log_texts (log_id, workspace_id, body) select * from unnest(cast(${ids} as uuid[]), cast(${workspaces} as uuid[]), cast(${bodies} as text[]))`.execute(
    transaction,
  );
}
