import { CompiledQuery } from "kysely";

// Waiting for another process blocks this one, so SQLite waits only at the start, and groupCommit.ts retries.
export const BUSY_MS = 5;

/** With the 16 MB of the library, a trace of 10,000 logs is fetched from the system again for each page of it. */
export const READER_PRAGMAS = ["query_only = on", "cache_size = -65536"];

/**
 * Pages in the write-ahead log, 16 MB, before a commit copies them to the file. With the 1,000 of SQLite nearly each batch of
 * 512 spans does so, also for pages that the next one changes again: a span then takes a tenth more processor time.
 */
export const WRITER_PRAGMAS = [
  "wal_autocheckpoint = 4000",
  // The file of the log is cut to this once all of it is copied: its size tells searches how much is not.
  "journal_size_limit = 33554432",
];

interface PragmaConnection {
  executeQuery(query: CompiledQuery): Promise<{ rows: Record<string, unknown>[] }>;
}

const SYNCHRONOUS_FULL = 2;

/** WAL with FULL sync: less may lose the last commits in a power cut (https://sqlite.org/pragma.html#pragma_synchronous). */
export function setPragmas(extraPragmas: string[]) {
  return async (connection: unknown) => {
    const pragma = async (statement: string) => {
      const { rows } = await (connection as PragmaConnection).executeQuery(
        CompiledQuery.raw(`pragma ${statement}`),
      );
      return Object.values(rows[0] ?? {})[0];
    };
    for (const statement of [
      "journal_mode = wal",
      "synchronous = full",
      "temp_store = memory",
      ...extraPragmas,
    ]) {
      await pragma(statement);
    }
    await pragma(`busy_timeout = ${BUSY_MS}`);
    const journal = await pragma("journal_mode");
    const synchronous = await pragma("synchronous");
    if (journal !== "wal" || synchronous !== SYNCHRONOUS_FULL) {
      throw new Error(
        `it runs with journal_mode=${journal} and synchronous=${synchronous}, not with wal and full`,
      );
    }
  };
}
