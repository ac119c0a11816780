import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "../src/database/open.ts";
import { tablesOf } from "../src/database/tables.ts";
import { PAYLOAD } from "./secretRequests.ts";

/** The ways in which a database is broken, so that most operations fail in it. */
export const breakings = ["refused rows", "damaged rows", "tables that are gone"] as const;
export type Breaking = (typeof breakings)[number];

/** Breaks a database that a gateway serves, and gives back how to mend it. */
export async function breakDatabase(database: Database, way: Breaking): Promise<() => Promise<void>> {
  const names = tablesOf(database.orm.getMetadata()).map(({ name }) => name);
  const own = names.filter((name) => !["workspaces", "access_tokens"].includes(name));
  const [make, mend] = {
    "refused rows": () => refuseRows(own, database),
    "damaged rows": (): [string[], string[]] => [damages, []],
    "tables that are gone": () => hideTables([...own, "log_texts"]),
  }[way]();
  const run = async (statements: string[]) => {
    for (const statement of statements) await database.orm.em.fork().execute(statement);
  };
  await run(make);
  await wait(SEEN_BY_ALL_MS);
  return () => run(mend);
}

const SEEN_BY_ALL_MS = 100;

const damages = [
  ["datasets", "columns"],
  ["dataset_rows", "values"],
  ["prompt_versions", "variables"],
  ["logs", "output"],
  ["audit_entries", "after"],
].map(([table, column]) => `update ${table} set "${column}" = '${PAYLOAD}'`);

function hideTables(tables: string[]): [string[], string[]] {
  return [
    tables.map((table) => `alter table ${table} rename to hidden_${table}`),
    tables.map((table) => `alter table hidden_${table} rename to ${table}`),
  ];
}

function refuseRows(tables: string[], { orm }: Database): [string[], string[]] {
  const onPostgresql = orm.em.getPlatform().constructor.name.startsWith("Postgre");
  if (onPostgresql)
    return [
      tables.map(
        (table) => `alter table ${table} add constraint spoilt check (workspace_id is null) not valid`,
      ),
      tables.map((table) => `alter table ${table} drop constraint spoilt`),
    ];
  const changes = ["insert", "update", "delete"];
  const each = <T>(run: (table: string, change: string) => T) =>
    tables.flatMap((table) => changes.map((change) => run(table, change)));
  return [
    each(
      (table, change) =>
        `create trigger spoilt_${change}_${table} before ${change} on ${table} begin select raise(abort, 'spoilt'); end`,
    ),
    each((table, change) => `drop trigger spoilt_${change}_${table}`),
  ];
}
