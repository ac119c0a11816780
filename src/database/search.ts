import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";

/**
 * What the full-text index is asked for: all words of a text, in one workspace. Words are runs of letters and digits in
 * any case; those between double quotes must stand in that order, and one that ends in * may go on.
 */
export function fullTextQuery(workspaceId: string, text: string): string {
  const phrases = [...text.matchAll(/"([^"]*)"?|(\S+)/g)].flatMap(([, quoted, word]) => {
    const phrase = quoted ?? word!.replaceAll('"', " ");
    if (!/[\p{L}\p{N}]/u.test(phrase)) return [];
    return `"${phrase}"${word?.endsWith("*") ? " *" : ""}`;
  });
  return `workspace : "${workspaceId.replaceAll("-", "")}" AND body : (${phrases.join(" AND ")})`;
}

/** The entries of the full-text index that a query finds, the latest first, up to `most`. */
export function searchIds(query: string, most: number): RawBuilder<{ searchId: number }> {
  return sql`select rowid as "searchId" from log_texts where log_texts match ${query} order by rowid desc limit ${most}`;
}

/** Whether a query finds an entry that lies in a range; costs about as much as all that it finds in there. */
export function isFoundWithin(
  query: string,
  searchId: Expression<unknown>,
  range: { lowest: number; highest: number },
): Expression<SqlBool> {
  // Numbers are bound as floating-point ones, which the index does not take for bounds: it would read all it has.
  const [lowest, highest] = [range.lowest, range.highest].map((id) => sql`cast(${id} as integer)`);
  return sql<SqlBool>`${unindexed(searchId)} in (select rowid from log_texts where log_texts match ${query} and rowid between ${lowest} and ${highest})`;
}

/** Whether a query finds an entry; costs a look-up in the index for each. */
export function isFound(query: string, searchId: Expression<unknown>): Expression<SqlBool> {
  return sql<SqlBool>`exists (select 1 from log_texts where log_texts match ${query} and rowid = ${searchId})`;
}

/** Whether a JSON object has a member of that name with that value. */
export function hasMember(
  object: Expression<unknown>,
  { key, value }: { key: string; value: string | number | boolean | null },
): Expression<SqlBool> {
  const isEqual =
    typeof value === "string"
      ? sql`member.type = 'text' and member.value = ${value}`
      : typeof value === "number"
        ? sql`member.type in ('integer', 'real') and member.value = ${value}`
        : sql`member.type = ${String(value)}`;
  return sql<SqlBool>`exists (select 1 from json_each(${object}) as member where member.key = ${key} and ${isEqual})`;
}

/** A column for a condition that no index is to be chosen by: without statistics SQLite takes any equality for narrow. */
export function unindexed<T>(column: Expression<T>): Expression<T> {
  return sql<T>`+${column}`;
}
