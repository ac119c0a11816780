import { fileURLToPath } from "node:url";
import { type Expression, type SqlBool, sql } from "kysely";
import type { Piscina } from "piscina";
import type { search } from "./search-worker.ts";

/**
 * What the full-text index is asked for: all words of a text, in one workspace. Words are runs of letters and digits in
 * any case; those between double quotes must stand in that order in one part, and what ends in * may go on.
 */
export function fullTextQuery(workspaceId: string, text: string): string {
  const phrases = [...text.matchAll(/"([^"]*)"?(\*?)|([^\s"]+)/g)].flatMap(([, quoted, star, word]) => {
    const phrase = quoted ?? word!;
    if (!/[\p{L}\p{N}]/u.test(phrase)) return [];
    return `"${phrase}"${star || phrase.endsWith("*") ? " *" : ""}`;
  });
  return `workspace : "${workspaceId.replaceAll("-", "")}" AND {input output} : (${phrases.join(" AND ")})`;
}

/** Makes the search in the full-text index of a database: in a thread of its own, started at the first search. */
export function createSearch(file: string) {
  let pool: Promise<Piscina> | undefined;
  const run = async (what: Omit<Parameters<typeof search>[0], "file">): Promise<number[]> => {
    pool ??= startPool();
    return (await pool).run({ ...what, file });
  };
  return {
    /** The latest entries that a query finds, up to `most`. */
    latest: (query: string, most: number): Promise<number[]> => run({ query, most }),
    /** Those of some entries that a query finds. */
    among: async (query: string, entries: number[]): Promise<Set<number>> =>
      new Set(entries.length === 0 ? [] : await run({ query, among: entries })),
    close: async (): Promise<void> => {
      await (await pool)?.destroy();
    },
  };
}

const IDLE_MS = 60_000;

async function startPool(): Promise<Piscina> {
  const { Piscina } = await import("piscina");
  return new Piscina({
    filename: fileURLToPath(new URL("./search-worker.ts", import.meta.url)),
    name: "search",
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_MS,
    recordTiming: false,
  });
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
