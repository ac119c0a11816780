import { setImmediate } from "node:timers/promises";
import { migrate } from "../migrate.ts";
import { type Database, dialectOf, type Entities, missingDatabase, openDatabase } from "../open.ts";
import { type Table, tablesOf } from "../tables.ts";
import { createFingerprint } from "./checksum.ts";
import type { Filling, Snapshot } from "./copier.ts";

export interface Copy {
  /** Learns once how many rows there are. */
  begin(rows: number): void;
  /** Learns how many rows are copied and how many were read back. */
  report(copied: number, checked: number): void;
  /** Breaks the copy off. */
  signal: AbortSignal;
  entities: Entities;
}

/** How many rows of a table were copied. */
export interface Copied {
  table: string;
  rows: number;
}

/**
 * Copies all that one database holds, as it is at one moment while others go on writing to it, to another one that must be
 * empty. All of it is read back and compared before it is there for anybody else; when anything fails, nothing is.
 */
export async function copyDatabase(from: string, to: string, copy: Copy): Promise<Copied[]> {
  const missing = missingDatabase(from);
  if (missing) throw new Error(`There is no database at ${missing} to copy from.`);
  const withOpen = createWithOpen(copy.entities);
  return withOpen(from, async (source) => {
    await refuseUnfitSource(source);
    const isThere = missingDatabase(to) === undefined;
    const refuseFull = () => withOpen(to, (target) => refuseUnfitTarget(source, target));
    if (isThere) await refuseFull();
    const make = (url: string) => withOpen(url, (target) => fill(source, target, copy));
    const { replace } = (await dialectOf(to)).copying;
    return replace ? replace(make, refuseFull) : make(to);
  });
}

function createWithOpen(entities: Entities) {
  return async <T>(url: string, run: (database: Database) => Promise<T>): Promise<T> => {
    const database = await openDatabase(url, entities);
    try {
      return await run(database);
    } finally {
      await database.close();
    }
  };
}

const MIGRATIONS = "mikro_orm_migrations";

async function namesOfTables({ orm, dialect }: Database): Promise<string[]> {
  const found = await orm.em.fork().execute<{ name: string }[]>(dialect.copying.tableNames);
  return found.map(({ name }) => name);
}

/** Nothing is done to a source, so it must have the schema of this program already. */
async function refuseUnfitSource(source: Database): Promise<void> {
  const { place, migrations } = source.dialect;
  const names = await namesOfTables(source);
  if (!names.includes(MIGRATIONS) || !names.includes("workspaces"))
    throw new Error(`The source ${place} is a database, but not one of Gabbro.`);
  const rows = await source.orm.em.fork().execute<{ name: string }[]>(`select name from ${MIGRATIONS}`);
  const executed = new Set(rows.map(({ name }) => name));
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...executed.difference(known)].join(", ");
  if (unknown)
    throw new Error(
      `The source ${place} was made by a newer Gabbro (${unknown}). Copy it with that version or a newer one.`,
    );
  const lacking = [...known.difference(executed)].join(", ");
  if (lacking)
    throw new Error(
      `The source ${place} lacks ${lacking}. Bring it up to date with gabbro migrate and its DATABASE_URL, then copy again.`,
    );
}

async function refuseUnfitTarget(source: Database, target: Database): Promise<void> {
  const { place, copying } = target.dialect;
  const isSame = (await identityOf(source)) === (await identityOf(target));
  if (isSame)
    throw new Error(`The source and the target are the same database, ${place}. Name another target.`);
  const tables = tablesOf(target.orm.getMetadata());
  const names = await namesOfTables(target);
  const ours = new Set(tables.map(({ name }) => name));
  const foreign = names.filter((name) => !ours.has(name) && !/^(?:log_texts|sqlite_|mikro_orm_)/.test(name));
  if (copying.replace && foreign.length > 0)
    throw new Error(`The target ${place} holds tables of another program. Name another file.`);
  const run = (statement: string) => target.orm.em.fork().execute(statement);
  await refuseRows(
    place,
    tables.filter(({ name }) => names.includes(name)),
    run,
  );
}

async function identityOf({ orm, dialect }: Database): Promise<string> {
  return `${dialect.folder} ${await dialect.copying.identity(orm)}`;
}

async function refuseRows(place: string, tables: Table[], run: Snapshot["execute"]): Promise<void> {
  for (const { name } of tables) {
    const rows = await run(`select 1 from ${name} limit 1`);
    if (rows.length > 0)
      throw new Error(
        `The target ${place} is not empty: there are rows in ${name}. Name an empty or a new one.`,
      );
  }
}

async function fill(source: Database, target: Database, copy: Copy): Promise<Copied[]> {
  await migrate(target);
  const tables = tablesOf(source.orm.getMetadata());
  const targetTables = tablesOf(target.orm.getMetadata());
  return source.dialect.copying.read(source.orm, (snapshot) =>
    target.dialect.copying.fill(target.orm, targetTables, async (filling) => {
      await refuseRows(target.dialect.place, targetTables, filling.execute);
      const counts = await countAll(snapshot, tables);
      copy.begin(counts.reduce((sum, count) => sum + count, 0));
      const pairs = tables.map((table) => ({
        from: table,
        to: targetTables.find(({ entity }) => entity === table.entity)!,
      }));
      return copyAll(snapshot, filling, pairs, counts, copy);
    }),
  );
}

async function countAll(snapshot: Snapshot, tables: Table[]): Promise<number[]> {
  const counts: number[] = [];
  for (const { name } of tables) {
    const [row] = await snapshot.execute(`select count(*) as rows from ${name}`);
    counts.push(Number(row!.rows));
  }
  return counts;
}

interface Pair {
  from: Table;
  to: Table;
}

async function copyAll(
  snapshot: Snapshot,
  filling: Filling,
  pairs: Pair[],
  counts: number[],
  { report, signal }: Copy,
): Promise<Copied[]> {
  const done = { copied: 0, checked: 0 };
  const step = async (what: "copied" | "checked", rows: unknown[][]) => {
    done[what] += rows.length;
    report(done.copied, done.checked);
    await setImmediate(); // a signal is heard only between two turns
    signal.throwIfAborted();
  };
  const sums = [];
  for (const pair of pairs)
    sums.push(await copyTable(snapshot, filling, pair, (rows) => step("copied", rows)));
  for (const [at, { to }] of pairs.entries()) {
    const back = createFingerprint();
    for await (const rows of filling.rows(to)) {
      back.add(rows);
      await step("checked", rows);
    }
    const { count, sum } = sums[at]!;
    if (count() !== counts[at] || back.count() !== count() || back.sum() !== sum())
      throw new Error(
        `The table ${to.name} is not the same in the target: ${counts[at]} rows were to be copied and ${back.count()} were read back, or some of them differ. This is an error of Gabbro.`,
      );
  }
  return pairs.map(({ to }, at) => ({ table: to.name, rows: counts[at]! }));
}

/** While the target stores rows, the next ones are read. */
async function copyTable(
  snapshot: Snapshot,
  filling: Filling,
  { from, to }: Pair,
  step: (rows: unknown[][]) => Promise<void>,
) {
  const fingerprint = createFingerprint();
  let stored: Promise<void> = Promise.resolve();
  try {
    for await (const rows of snapshot.rows(from)) {
      await stored;
      stored = filling.insert(to, rows);
      stored.catch(() => {}); // it is awaited below, or in the next round
      fingerprint.add(rows);
      await step(rows);
    }
  } finally {
    // What is still being written when the transaction is taken back would be written outside of it.
    await Promise.allSettled([stored]);
  }
  await stored;
  return fingerprint;
}
