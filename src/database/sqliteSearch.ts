import { fileURLToPath } from "node:url";
import { type SqlBool, sql } from "kysely";
import type { Piscina } from "piscina";
import type { Key, Search } from "./search.ts";
import type { search } from "./search-worker.ts";
import { phrasesOf } from "./words.ts";

/** Looks logs up in a thread of its own, started at the first search. */
export function createSqliteSearch(file: string): Search<string> {
  let pool: Promise<Piscina> | undefined;
  const run = async (what: Omit<Parameters<typeof search>[0], "file">): Promise<Key[]> => {
    pool ??= startPool(() => {
      pool = undefined;
    });
    return (await pool).run({ ...what, file });
  };
  return {
    key: "searchId",

    query: (workspaceId, text) => {
      const phrases = phrasesOf(text).map((phrase) => `"${phrase.text}"${phrase.isBeginning ? " *" : ""}`);
      const workspace = workspaceId.replaceAll("-", "");
      return `workspace : "${workspace}" AND {input output} : (${phrases.join(" AND ")})`;
    },

    // The latest first: what is looked for mostly came lately.
    find: (query, most) => run({ query, most }),

    among: async (query, keys) =>
      new Set(keys.length === 0 ? [] : await run({ query, among: keys as number[] })),

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

    isServer: false,

    leads: (column, value) => sql<SqlBool>`${column} = ${value}`,

    summedParts: [sql<SqlBool>`true`],

    close: async () => {
      await (await pool)?.destroy();
    },
  };
}

const IDLE_MS = 60_000;

async function startPool(ended: () => void): Promise<Piscina> {
  const { Piscina } = await import("piscina");
  const started = new Piscina({
    filename: fileURLToPath(new URL("./search-worker.ts", import.meta.url)),
    name: "search",
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_MS,
    recordTiming: false,
  });
  // Piscina would leave searches unanswered that wait for a thread which dies while it starts; this rejects them.
  started.on("workerDestroy", () => {
    ended();
    queueMicrotask(() => started.destroy());
  });
  started.on("error", () => {}); // A thread that dies between two searches fails none, and must not end the process.
  return started;
}
