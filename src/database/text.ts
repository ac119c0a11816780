import { type Expression, type SqlBool, sql } from "kysely";

/** Whether a text has `wanted` in it, in any case of the letters A to Z; wildcards in it are ordinary characters. */
export function contains(column: Expression<unknown>, wanted: string): Expression<SqlBool> {
  const lowered = wanted.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()); // as the database does
  const pattern = `%${lowered.replaceAll(/[\\%_]/g, "\\$&")}%`;
  return sql<SqlBool>`lower(${column}) like ${pattern} escape '\\'`;
}
