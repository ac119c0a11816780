import Database from "better-sqlite3";
import pg from "pg";
import type { Ledger } from "./writers.ts";

export interface Verdict {
  /** What was acknowledged and is not there. */
  lost: string[];
  doubled: string[];
  /** What is wrong with the database itself. */
  faults: string[];
}

export const isFaultless = ({ lost, doubled, faults }: Verdict): boolean =>
  lost.length + doubled.length + faults.length === 0;

const NAMES = "select user_id as name from logs union all select name from dataset_rows";
/** Each log is in the full-text index once, and nothing else is. */
const INDEXED = {
  sqlite:
    "select (select count(*) from logs) = (select count(*) from log_texts_docsize) and not exists (select 1 from logs where search_id is null or search_id not in (select id from log_texts_docsize)) as ok",
  postgresql:
    "select (select count(*) from logs) = (select count(*) from log_texts) and not exists (select 1 from logs where id not in (select log_id from log_texts)) as ok",
};
const NOT_INDEXED = "the full-text index has not the logs";

/** Holds what is in the database against the answers that the writers received. */
export async function judge(databaseUrl: string, ledger: Ledger): Promise<Verdict> {
  const { names, faults } = databaseUrl.startsWith("sqlite:")
    ? readSqlite(databaseUrl.slice("sqlite:".length))
    : await readPostgresql(databaseUrl);
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    lost: [...ledger.acknowledged].filter((name) => !counts.has(name)),
    doubled: [...counts].flatMap(([name, count]) => (count > 1 ? [name] : [])),
    faults,
  };
}

const TIMEOUT_MS = 10_000;

function readSqlite(path: string): { names: string[]; faults: string[] } {
  const database = new Database(path, { fileMustExist: true, timeout: TIMEOUT_MS });
  try {
    const names = database.prepare(NAMES).pluck().all() as string[];
    const faults = [
      ...(database.pragma("integrity_check") as { integrity_check: string }[]).map(
        (row) => row.integrity_check,
      ),
      ...(database.pragma("foreign_key_check") as object[]).map((row) => JSON.stringify(row)),
    ].filter((fault) => fault !== "ok");
    database.exec("insert into log_texts (log_texts) values ('integrity-check')"); // throws when it is not
    const isIndexed = database.prepare(INDEXED.sqlite).pluck().get();
    return { names, faults: isIndexed ? faults : [...faults, NOT_INDEXED] };
  } finally {
    database.close();
  }
}

async function readPostgresql(url: string): Promise<{ names: string[]; faults: string[] }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(NAMES);
    const indexed = await client.query<{ ok: boolean }>(INDEXED.postgresql);
    return { names: rows.map(({ name }) => name), faults: indexed.rows[0]!.ok ? [] : [NOT_INDEXED] };
  } finally {
    await client.end();
  }
}
