import pg from "pg";
import { STEP_MS, TEXT_LENGTH } from "./logs.ts";

const TABLES = ["traces", "logs", "log_texts"];
const names = TABLES.map((name) => `'${name}'`).join();
type Ask = <Row>(statement: string) => Promise<Row[]>;

/** Gives a database so many times its logs, each with ids, a time and an entry of the index of its own, as `multiplyLogs` does. */
export async function multiplyOnPostgresql(url: string, times: number, say: (words: string) => void) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const ask: Ask = async <Row>(statement: string) => (await client.query(statement)).rows as Row[];
  try {
    await ask("set maintenance_work_mem = '2GB'");
    const makeKeysAgain = await dropKeys(ask, say);
    await copyTables(ask, times, say);
    await makeKeysAgain();
    for (const table of TABLES) await ask(`vacuum (analyze) ${table}`);
    await ask("checkpoint");
  } finally {
    await client.end();
  }
}

/** Drops what rows are slow to enter one by one; returns what makes it again. */
async function dropKeys(ask: Ask, say: (words: string) => void) {
  const constraints = await ask<{ owner: string; name: string; made: string }>(
    `select conrelid::regclass::text as owner, conname as name, pg_get_constraintdef(oid) as made from pg_constraint
     where contype in ('p', 'u', 'f') and (conrelid::regclass::text in (${names}) or confrelid::regclass::text in (${names}))
     order by contype = 'f'`,
  );
  const indexes = await ask<{ name: string; made: string }>(
    `select indexname as name, indexdef as made from pg_indexes
     where tablename in (${names}) and indexname not in (select conname from pg_constraint)`,
  );
  for (const { owner, name } of constraints.toReversed())
    await ask(`alter table ${owner} drop constraint "${name}"`);
  for (const { name } of indexes) await ask(`drop index "${name}"`);
  return async () => {
    for (const { owner, name, made } of constraints) {
      // The copies have the parents of their templates, and looking for each takes minutes.
      const unchecked = made.startsWith("FOREIGN KEY") ? " not valid" : "";
      await ask(`alter table ${owner} add constraint "${name}" ${made}${unchecked}`);
    }
    for (const { name, made } of indexes) {
      await ask(made);
      say(`made again: ${name}`);
    }
  };
}

async function copyTables(ask: Ask, times: number, say: (words: string) => void): Promise<void> {
  await ask("create table trace as select *, row_number() over (order by id) as n from traces");
  await ask("create table log as select *, row_number() over (order by id) as n from logs");
  await ask(
    "create table log_text as select log_texts.*, log.n from log_texts join log on log.id = log_texts.log_id",
  );
  const [{ count }] = (await ask("select count(*)::int as count from log")) as [{ count: number }];
  const began = Date.now() - count * times * STEP_MS;
  const n = `(lap::bigint * ${count} + part.n)`;
  const ms = `(${began}::bigint + ${n} * ${STEP_MS})`;
  // A UUID of version 7: the time, then the kind, then the number.
  const id = (kind: number) =>
    `(lpad(to_hex(${ms}), 12, '0') || '7${kind}008000' || lpad(to_hex(${n}), 12, '0'))::uuid`;
  const short = (column: string) => `to_json(left(part.${column}::json #>> '{}', ${TEXT_LENGTH}))`;
  const time = `to_timestamp(${ms} / 1000.0)`;
  const moments = { start_time: time, created_at: time };
  const from = (part: string) =>
    `from generate_series(0, ${times - 1}) as lap, lateral (select * from ${part} order by n offset 0) as part`;
  const copy = async (table: string, part: string, changed: Record<string, string>) => {
    const columns = await ask<{ name: string; type: string }>(
      `select column_name as name, udt_name as type from information_schema.columns where table_name = '${table}' and is_generated = 'NEVER'`,
    );
    const values = columns.map(({ name, type }) =>
      changed[name] ? `(${changed[name]})::text::${type}` : `part."${name}"`,
    );
    await ask(
      `insert into ${table} (${columns.map(({ name }) => `"${name}"`)}) select ${values} ${from(part)}`,
    );
    say(`${table}: ${(count * times).toLocaleString("en")}`);
  };
  await ask("begin");
  await ask(`truncate ${TABLES} cascade`);
  await copy("traces", "trace", { ...moments, id: id(0) });
  const texts = { input: short("input"), output: short("output") };
  await copy("logs", "log", { ...moments, ...texts, id: id(1), trace_id: id(0) });
  await copy("log_texts", "log_text", { log_id: id(1), body: `left(part.body, ${2 * TEXT_LENGTH})` });
  await ask("commit");
  await ask("drop table trace, log, log_text");
}
