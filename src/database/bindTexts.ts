import { raw } from "@mikro-orm/core";
import { CompiledQuery, type Kysely } from "kysely";

const MAX_INLINE_CHARACTERS = 256;

type Client = Pick<Kysely<unknown>, "executeQuery">;

/**
 * Takes long texts out of the parameters of a statement; the returned client binds them. MikroORM writes all values into the
 * statement, and escaping 10 MB blocks the event loop for 1.1 s on PostgreSQL and 0.15 s on SQLite;
 * 400 texts of 4,000 characters in one statement, 0.5 s on PostgreSQL.
 */
export function bindTexts(
  parameters: readonly unknown[],
  client: Client,
  placeholder: (n: number) => string,
): { parameters: unknown[]; client: Client } {
  const texts: string[] = [];
  const inlineParameters = parameters.map((value) =>
    typeof value === "string" && value.length > MAX_INLINE_CHARACTERS
      ? raw(placeholder(texts.push(value)))
      : value,
  );
  const executeQuery: Client["executeQuery"] = ({ sql }: CompiledQuery, options) =>
    client.executeQuery(CompiledQuery.raw(sql, texts), options);
  return { parameters: inlineParameters, client: texts.length > 0 ? { executeQuery } : client };
}
