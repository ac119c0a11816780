import { resolve } from "node:path";
import type { Statement } from "better-sqlite3";
import { withVersionsSync } from "../datasetVersions.ts";
import type { Dialect, Steps } from "../dialect.ts";
import type { Insert } from "../inserts.ts";
import { sqliteMigrations } from "../migrations/sqlite/list.ts";
import { openSqliteChangeFeed } from "./changeFeed.ts";
import { Driver, handleOf, placeholder } from "./connection.ts";
import { createSqliteCopier } from "./copier.ts";
import { createFile, inspectFile, isWorldReadable } from "./file.ts";
import { keepStatements } from "./keptStatements.ts";
import { BUSY_MS, READER_PRAGMAS, setPragmas, WRITER_PRAGMAS } from "./pragmas.ts";
import { createSqliteSearch } from "./search.ts";
import { withSnapshot } from "./snapshot.ts";
import { createWordIndexer, MAX_REMOVED_ROWS, mergeWords } from "./wordIndex.ts";

const OPENING_MS = 1_500;

/** The dialect of `sqlite:PATH`; file and folder are made when missing. */
export function sqlite(url: string): Dialect {
  const path = resolve(url.slice("sqlite:".length));
  return {
    place: path,
    options: {
      driver: Driver,
      dbName: path,
      // Reads have a connection of their own: a long read never blocks a write.
      replicas: [{ name: "reader", dbName: path, onCreateConnection: setPragmas(READER_PRAGMAS) }],
      onCreateConnection: setPragmas(WRITER_PRAGMAS),
      driverOptions: { timeout: OPENING_MS },
      // The full-text index, its view and triggers, and the statistics are no entities.
      schemaGenerator: {
        skipTables: [/^(?:log_texts|sqlite_)/],
        skipViews: ["log_words"],
        ignoreTriggers: true,
      },
    },
    folder: "sqlite",
    migrations: sqliteMigrations,
    prepare: async () => {
      await createFile(path);
      inspectFile(path, sqliteMigrations, OPENING_MS);
    },
    isWorldReadable: () => isWorldReadable(path),
    connect: async ({ em }) => {
      await em.getConnection("read").connect();
      for (const type of ["read", "write"] as const) keepStatements(await handleOf(em, type));
    },
    migrateAlone,
    createSearch: () => createSqliteSearch(path),
    openChangeFeed: openSqliteChangeFeed,
    openTransaction: [],
    openSharedTransaction: [],
    placeholder,
    rowsPerStatement: 1, // a prepared statement per row takes half the time of one for all rows
    runSteps: (orm, steps) => writeAlone(orm, runSteps(steps)),
    // Each step finds what there is and removes it in one transaction, so two processes do not remove the same.
    removeAlone: (_orm, _workspaceId, remove) => remove(),
    maxRemovedRows: MAX_REMOVED_ROWS,
    mergeWords,
    insertEach: (orm, inserts) => writeAlone(orm, insertEach(inserts)),
    insertEachWithin,
    connections: () => [],
    sizeOf: async ({ em }) => {
      const handle = await handleOf(em, "read");
      const figure = (name: string) => Number(handle.pragma(name, { simple: true }));
      return figure("page_count") * figure("page_size");
    },
    insertAlong: async () => {}, // a trigger updates the full-text index
    tellOthers: async () => {}, // who asks the file whether it has changed
    copyTo,
    copier: createSqliteCopier(path),
  };
}

/** Copies one snapshot: otherwise SQLite restarts whenever another process writes, and may never finish. */
const copyTo: Dialect["copyTo"] = ({ em }, file) =>
  withSnapshot(em, async (handle) => void (await handle.backup(file)));

const migrateAlone: Dialect["migrateAlone"] = async ({ em, migrator }, apply) => {
  const connection = em.getConnection("write");
  const handle = await handleOf(em, "write");
  const orphansOf = () => handle.pragma("foreign_key_check") as object[];
  let before: object[] | undefined;
  let last: string | undefined;
  // Before the first migration and after the last alone, because it reads all rows.
  const countOrphans = async () => {
    if (before) return;
    before = orphansOf();
    last = (await migrator.getPending()).at(-1)?.name;
  };
  const refuseOrphans = ({ name }: { name: string }) => {
    const orphans = name === last ? orphansOf() : [];
    // Their row ids say nothing: a table that is rebuilt assigns new ones.
    if (orphans.length > before!.length) throw orphanError(orphans, before!.length);
  };
  // Rebuilding a table drops the old one, and with foreign keys on that silently deletes the rows that point to it.
  // The pragma does nothing inside a transaction, so it stands around the migrator's.
  await connection.execute("pragma foreign_keys = off");
  // Else SQLite refuses to rename the new table as long as a trigger names the old one.
  await connection.execute("pragma legacy_alter_table = on");
  await connection.execute("pragma busy_timeout = 10000");
  // Inside the transaction, so that what they throw rolls it back.
  migrator.on("migrating", countOrphans).on("migrated", refuseOrphans);
  try {
    const applied = await apply({});
    if (applied.length > 0 && before?.length) process.emitWarning(orphanWarning(before));
    return applied;
  } finally {
    migrator.off("migrating", countOrphans).off("migrated", refuseOrphans);
    await connection.execute(`pragma busy_timeout = ${BUSY_MS}`);
    await connection.execute("pragma legacy_alter_table = off");
    await connection.execute("pragma foreign_keys = on");
  }
};

const orphanError = (orphans: object[], before: number) =>
  new Error(
    `The migration leaves rows without their parents (${orphans.length - before}), such as ${JSON.stringify(orphans.at(-1))}. Nothing was migrated: continue with the older version, and report this.`,
  );

const orphanWarning = (orphans: object[]) =>
  `Rows of the database had no parents before it was migrated (${orphans.length}), such as ${JSON.stringify(orphans[0])}. They stay, and gabbro copy refuses them. List them with "pragma foreign_key_check", and delete them.`;

type Prepare = (statement: string) => Statement;

const runSteps =
  <Result>(steps: () => Steps<Result>) =>
  (prepare: Prepare): Result => {
    const running = steps();
    let step = running.next();
    while (!step.done) {
      const prepared = prepare(step.value.statement);
      const rows = prepared.reader ? prepared.all(step.value.values) : [];
      if (!prepared.reader) prepared.run(step.value.values);
      step = running.next(rows as Record<string, unknown>[]);
    }
    return step.value;
  };

const insertEach = (inserts: Insert[]) => (prepare: Prepare) => {
  const words = createWordIndexer(prepare);
  words.assignIds(inserts);
  insertRows(inserts, prepare);
  words.indexAll();
};

const insertEachWithin: NonNullable<Dialect["insertEachWithin"]> = async (em, pieces, pause) => {
  const handle = await handleOf(em, "write");
  const prepare: Prepare = (statement) => handle.prepare(statement);
  const words = createWordIndexer(prepare);
  // A pause, also one of the caller, may end the transaction: its connection refuses then, the handle would write outside of it.
  const refuseEnded = () => em.execute("select 1");
  const pauseWithin = async () => {
    if (await pause()) await refuseEnded();
  };
  await refuseEnded();
  for (const inserts of pieces) {
    await pauseWithin();
    words.assignIds(inserts);
    insertRows(inserts, prepare);
  }
  await words.indexInPieces(pauseWithin);
};

function insertRows(inserts: Insert[], prepare: Prepare): void {
  for (const insert of inserts) {
    const rows = withVersionsSync(insert, prepare);
    const prepared = prepare(insert.statement);
    for (const values of rows) prepared.run(values);
  }
}

/**
 * Runs prepared statements in one transaction, on the ORM's own connection, which has no other user meanwhile: a second
 * connection that writes would block this process.
 */
function writeAlone<Result>(
  { em }: Parameters<Dialect["runSteps"]>[0],
  write: (prepare: Prepare) => Result,
): Promise<Result> {
  return em
    .getKysely()
    .connection()
    .execute(async () => {
      const handle = await handleOf(em, "write");
      handle.exec("begin immediate");
      try {
        const result = write((statement) => handle.prepare(statement));
        handle.exec("commit");
        return result;
      } catch (error) {
        if (handle.inTransaction) handle.exec("rollback"); // when the disk is full, SQLite rolls back by itself
        throw error;
      }
    });
}
