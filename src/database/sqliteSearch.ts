import { type SqlBool, sql } from "kysely";
import type { Search } from "./search.ts";
import { phrasesOf } from "./words.ts";

export const sqliteSearch: Search<string> = {
  key: "searchId",

  query: (workspaceId, text) => {
    const phrases = phrasesOf(text).map((phrase) => `"${phrase.text}"${phrase.isBeginning ? " *" : ""}`);
    return `workspace : "${workspaceId.replaceAll("-", "")}" AND body : (${phrases.join(" AND ")})`;
  },

  // The latest first: what is looked for mostly came lately.
  keys: (query, most) =>
    sql`select rowid as "key" from log_texts where log_texts match ${query} order by rowid desc limit ${most}`,

  lookUp: async (read, query) => (await query.execute(read)).rows.map(({ key }) => key),

  isFound: (query, key) =>
    sql<SqlBool>`exists (select 1 from log_texts where log_texts match ${query} and rowid = ${key})`,

  isFoundWithin: (query, key, range) => {
    // Numbers are bound as floating-point ones, which the index does not take for bounds: it would read all it has.
    const [lowest, highest] = [range.lowest, range.highest].map((id) => sql`cast(${id} as integer)`);
    return sql<SqlBool>`+${key} in (select rowid from log_texts where log_texts match ${query} and rowid between ${lowest} and ${highest})`;
  },

  hasMember: (object, { key, value }) => {
    const isEqual =
      typeof value === "string"
        ? sql`member.type = 'text' and member.value = ${value}`
        : typeof value === "number"
          ? sql`member.type in ('integer', 'real') and member.value = ${value}`
          : sql`member.type = ${String(value)}`;
    return sql<SqlBool>`exists (select 1 from json_each(${object}) as member where member.key = ${key} and ${isEqual})`;
  },

  // Without statistics SQLite takes any equality for narrow.
  unindexed: (column) => sql`+${column}`,

  leads: (column, value) => sql<SqlBool>`${column} = ${value}`,
};
