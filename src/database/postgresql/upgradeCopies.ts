import { IsolationLevel, type Transaction } from "@mikro-orm/core";
import type { Dialect } from "../dialect.ts";

type Copies = NonNullable<Dialect["upgradeCopies"]>;
type Orm = Parameters<Copies["make"]>[0];
type Run = (statement: string) => Promise<Record<string, unknown>[]>;

const PREFIX = "before_";
const KEPT = 2;
const MAX_NAME_BYTES = 63;

/** Copies of all tables, each set in a schema of its own, named after the first migration that it lacks: rows without indexes. */
export function upgradeCopies(migrateAlone: Dialect["migrateAlone"]): Copies {
  return {
    // Not in the transaction of the migration, which sees what others write meanwhile.
    make: ({ em }, migration) =>
      em.getConnection().transactional(
        async (transaction) => {
          const run = runIn(em, transaction);
          await run("set local statement_timeout = 0");
          return copyTables(run, nameFor(migration));
        },
        { isolationLevel: IsolationLevel.REPEATABLE_READ },
      ),
    restore: async (orm, copy) => {
      await migrateAlone(orm, async (options) => {
        const run = runIn(orm.em, options.transaction);
        const last = await checkBefore(run, copy);
        const applied = await orm.migrator.up({ ...options, to: last });
        await fill(run, copy);
        return applied.map(({ name }) => name);
      });
    },
  };
}

/** In small letters, so that people need not put it in quotation marks. */
const nameFor = (migration: string) => `${PREFIX}${migration}`.toLowerCase().slice(0, MAX_NAME_BYTES);

function runIn(em: Orm["em"], transaction: Transaction): Run {
  return (statement) => em.getConnection().execute(statement, [], "all", transaction);
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

async function namesFrom(run: Run, statement: string): Promise<string[]> {
  return (await run(statement)).map(({ name }) => String(name));
}

const tablesOf = (run: Run, schema: string) =>
  namesFrom(
    run,
    `select relname as name from pg_class where relkind = 'r' and relnamespace = ${schema}::regnamespace order by 1`,
  );

const copiesIn = (run: Run) =>
  namesFrom(
    run,
    `select nspname as name from pg_namespace where starts_with(nspname, '${PREFIX}') order by 1 desc`,
  );

async function copyTables(run: Run, copy: string): Promise<string> {
  await run(`drop schema if exists ${quoted(copy)} cascade`);
  await run(`create schema ${quoted(copy)}`);
  for (const table of await tablesOf(run, "current_schema()"))
    await run(`create table ${quoted(copy)}.${quoted(table)} as table ${quoted(table)}`);
  const made = (await copiesIn(run)).filter((name) => /^before_migration\d{14}_/.test(name));
  for (const older of made.slice(KEPT)) await run(`drop schema ${quoted(older)} cascade`);
  return copy;
}

/** Throws unless there is such a copy and no table yet; returns the last migration that the copy has. */
async function checkBefore(run: Run, copy: string): Promise<string> {
  const copies = await copiesIn(run);
  if (!copies.includes(copy))
    throw new Error(`There is no copy ${copy}. There are these: ${copies.join(", ") || "none"}.`);
  if ((await tablesOf(run, "current_schema()")).length > 0)
    throw new Error(
      "There is a database already. Stop the service and move it away first, by: alter schema public rename to newer; create schema public",
    );
  const [last] = await namesFrom(run, `select max(name) as name from ${quoted(copy)}.mikro_orm_migrations`);
  return last!;
}

async function fill(run: Run, copy: string): Promise<void> {
  for (const table of await parentsFirst(run)) {
    if (table === "mikro_orm_migrations") continue; // has those that have just been applied
    const source = `${quoted(copy)}.${quoted(table)}`;
    const columns = await namesFrom(
      run,
      `select attname as name from pg_attribute where attrelid = '${source}'::regclass and attnum > 0`,
    );
    const list = columns.map(quoted).join(", ");
    await run(`insert into ${quoted(table)} (${list}) select ${list} from ${source}`);
  }
}

/** The tables in an order in which each comes after those that it refers to. */
async function parentsFirst(run: Run): Promise<string[]> {
  const references = await run(
    "select child.relname as child, parent.relname as parent from pg_constraint join pg_class child on child.oid = conrelid join pg_class parent on parent.oid = confrelid where contype = 'f' and child.relnamespace = current_schema()::regnamespace and child.oid <> parent.oid",
  );
  const ordered: string[] = [];
  let rest = await tablesOf(run, "current_schema()");
  while (rest.length > 0) {
    const isWaiting = (table: string) =>
      references.some(({ child, parent }) => child === table && rest.includes(String(parent)));
    const next = rest.filter((table) => !isWaiting(table));
    if (next.length === 0) throw new Error(`The tables ${rest.join(", ")} refer to each other.`);
    ordered.push(...next);
    rest = rest.filter((table) => !next.includes(table));
  }
  return ordered;
}
