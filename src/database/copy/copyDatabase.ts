import { setImmediate } from "node:timers/promises";
import { migrate } from "../migrate.ts";
import { type Database, dialectOf, type Entities, missingDatabase, openDatabase } from "../open.ts";
import { type Table, tablesOf } from "../tables.ts";
import { createChecksum } from "./checksum.ts";
import type { CopyTarget, Snapshot } from "./copier.ts";

export interface Copy {
  /** Called once, with the number of rows in the source. */
  begin(rows: number): void;
  /** Called with the numbers of rows that are copied and that were read back. */
  report(copied: number, checked: number): void;
  /** Aborts the copy. */
  signal: AbortSignal;
  entities: Entities;
}

/** A table that was copied, and its number of rows. */
export interface CopiedTable {
  table: string;
  rows: number;
}

/**
 * Copies a snapshot of one database, even while other programs write to it, to another database, which must be empty. All
 * rows are read back and compared before the copy becomes visible; after an error, none of it does.
 */
export async function copyDatabase(from: string, to: string, copy: Copy): Promise<CopiedTable[]> {
  const missingPath = missingDatabase(from);
  if (missingPath) throw new Error(`There is no database at ${missingPath} to copy from.`);
  const withDatabase = createWithDatabase(copy.entities);
  return withDatabase(from, async (source) => {
    await checkSource(source);
    const targetExists = missingDatabase(to) === undefined;
    const refuseNonEmpty = () => withDatabase(to, (target) => checkTarget(source, target));
    if (targetExists) await refuseNonEmpty();
    const make = (url: string) => withDatabase(url, (target) => fill(source, target, copy));
    const { replace } = (await dialectOf(to)).copier;
    return replace ? replace(make, refuseNonEmpty) : make(to);
  });
}

function createWithDatabase(entities: Entities) {
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

async function tableNamesOf({ orm, dialect }: Database): Promise<string[]> {
  const rows = await orm.em.fork().execute<{ name: string }[]>(dialect.copier.tableNames);
  return rows.map(({ name }) => name);
}

/** Throws unless the source has the schema of this program: a copy must not change its source. */
async function checkSource(source: Database): Promise<void> {
  const { place, migrations } = source.dialect;
  const names = await tableNamesOf(source);
  if (!names.includes(MIGRATIONS) || !names.includes("workspaces"))
    throw new Error(`The source ${place} is a database, but not one of Gabbro.`);
  const rows = await source.orm.em.fork().execute<{ name: string }[]>(`select name from ${MIGRATIONS}`);
  const executed = new Set(rows.map(({ name }) => name));
  const expected = new Set(migrations.map(({ name }) => name));
  const unknownNames = [...executed.difference(expected)].join(", ");
  if (unknownNames)
    throw new Error(
      `The source ${place} was made by a newer Gabbro (${unknownNames}). Copy it with that version or a newer one.`,
    );
  const missingNames = [...expected.difference(executed)].join(", ");
  if (missingNames)
    throw new Error(
      `The source ${place} lacks ${missingNames}. Bring it up to date with gabbro migrate and its DATABASE_URL, then copy again.`,
    );
}

async function checkTarget(source: Database, target: Database): Promise<void> {
  const { place, copier } = target.dialect;
  const isSame = (await identityOf(source)) === (await identityOf(target));
  if (isSame)
    throw new Error(`The source and the target are the same database, ${place}. Name another target.`);
  const tables = tablesOf(target.orm.getMetadata());
  const names = await tableNamesOf(target);
  const ownNames = new Set(tables.map(({ name }) => name));
  const foreignTables = names.filter(
    (name) => !ownNames.has(name) && !/^(?:log_texts|sqlite_|mikro_orm_)/.test(name),
  );
  if (copier.replace && foreignTables.length > 0)
    throw new Error(`The target ${place} holds tables of another program. Name another file.`);
  const run = (statement: string) => target.orm.em.fork().execute(statement);
  await refuseRows(
    place,
    tables.filter(({ name }) => names.includes(name)),
    run,
  );
}

async function identityOf({ orm, dialect }: Database): Promise<string> {
  return `${dialect.folder} ${await dialect.copier.identity(orm)}`;
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

async function fill(source: Database, target: Database, copy: Copy): Promise<CopiedTable[]> {
  await migrate(target);
  const tables = tablesOf(source.orm.getMetadata());
  const targetTables = tablesOf(target.orm.getMetadata());
  return source.dialect.copier.read(source.orm, (snapshot) =>
    target.dialect.copier.fill(target.orm, targetTables, async (copyTarget) => {
      await refuseRows(target.dialect.place, targetTables, copyTarget.execute);
      const counts = await countAll(snapshot, tables);
      copy.begin(counts.reduce((sum, count) => sum + count, 0));
      const pairs = tables.map((table) => ({
        from: table,
        to: targetTables.find(({ entity }) => entity === table.entity)!,
      }));
      return copyAll(snapshot, copyTarget, pairs, counts, copy);
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
  copyTarget: CopyTarget,
  pairs: Pair[],
  counts: number[],
  { report, signal }: Copy,
): Promise<CopiedTable[]> {
  const progress = { copied: 0, checked: 0 };
  const step = async (phase: "copied" | "checked", rows: unknown[][]) => {
    progress[phase] += rows.length;
    report(progress.copied, progress.checked);
    await setImmediate(); // a signal is handled only between two turns
    signal.throwIfAborted();
  };
  const checksums = [];
  for (const pair of pairs)
    checksums.push(await copyTable(snapshot, copyTarget, pair, (rows) => step("copied", rows)));
  for (const [at, { to }] of pairs.entries()) {
    const targetChecksum = createChecksum();
    for await (const rows of copyTarget.rows(to)) {
      targetChecksum.add(rows);
      await step("checked", rows);
    }
    const { count, sum } = checksums[at]!;
    if (count() !== counts[at] || targetChecksum.count() !== count() || targetChecksum.sum() !== sum())
      throw new Error(
        `The table ${to.name} is not the same in the target: ${counts[at]} rows were to be copied and ${targetChecksum.count()} were read back, or some of them differ. This is a bug in Gabbro.`,
      );
  }
  return pairs.map(({ to }, at) => ({ table: to.name, rows: counts[at]! }));
}

/** Reads the next rows while the target stores the previous ones. */
async function copyTable(
  snapshot: Snapshot,
  copyTarget: CopyTarget,
  { from, to }: Pair,
  step: (rows: unknown[][]) => Promise<void>,
) {
  const checksum = createChecksum();
  let storing: Promise<void> = Promise.resolve();
  for await (const rows of snapshot.rows(from)) {
    await storing;
    storing = copyTarget.insert(to, rows);
    // Awaited below, or in the next round; one that is under way after the end of the transaction is refused by it.
    storing.catch(() => {});
    checksum.add(rows);
    await step(rows);
  }
  await storing;
  return checksum;
}
