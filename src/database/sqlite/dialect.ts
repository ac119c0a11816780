import { resolve } from "node:path";
import type { Database, Statement } from "better-sqlite3";
import { CompiledQuery } from "kysely";
import type { Dialect } from "../dialect.ts";
import type { Insert } from "../inserts.ts";
import { sqliteMigrations } from "../migrations/sqlite/list.ts";
import { refuseDeletedSync } from "../softDelete.ts";
import { Driver, handleOf, placeholder } from "./connection.ts";
import { createSqliteCopying } from "./copier.ts";
import { createFile, inspectFile, isWorldReadable } from "./file.ts";
import { createSqliteSearch } from "./search.ts";
import { placeWords } from "./wordIndex.ts";

// SQLite waits for another process by blocking this whole one, so it hardly waits and groupCommit.ts tries again. Before it
// serves it may wait.
const BUSY_MS = 5;
const OPENING_MS = 1_500;

/** The dialect of `sqlite:PATH`; file and folder are made when missing. */
export function sqlite(url: string): Dialect {
  const path = resolve(url.slice("sqlite:".length));
  return {
    place: path,
    options: {
      driver: Driver,
      dbName: path,
      // Reads have a connection of their own: a long one never holds up a write.
      replicas: [{ name: "reader", dbName: path, onCreateConnection: setPragmas(["query_only = on"]) }],
      onCreateConnection: setPragmas([]),
      driverOptions: { timeout: OPENING_MS },
      // The full-text index, what keeps it and the statistics are no entities.
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
    connect: (orm) => orm.em.getConnection("read").connect(),
    migrateAlone,
    createSearch: () => createSqliteSearch(path),
    openChangeFeed,
    openTransaction: [],
    placeholder,
    rowsPerStatement: 1, // prepared once and run for each row it takes half the time of one over all rows
    runEach: (orm, statements) => writeAlone(orm, runEach(statements)),
    insertEach: (orm, inserts) => writeAlone(orm, insertEach(inserts)),
    connections: () => [],
    insertAlong: async () => {}, // a trigger keeps the full-text index
    copyTo,
    copying: createSqliteCopying(path),
  };
}

/** Holds to what is committed now: SQLite begins anew whenever another process writes, and would never come to the end. */
const copyTo: Dialect["copyTo"] = async ({ em }, file) => {
  const handle = await handleOf(em, "read");
  handle.exec("begin");
  try {
    handle.prepare("select 1 from sqlite_master").all([]); // what takes the hold
    await handle.backup(file);
  } finally {
    handle.exec("commit");
  }
};

const migrateAlone: Dialect["migrateAlone"] = async ({ em }, apply) => {
  const connection = em.getConnection("write");
  // Rebuilding a table drops the old one, and with foreign keys on that silently deletes the rows that point to it.
  // The pragma does nothing inside a transaction, so it stands around the migrator's.
  await connection.execute("pragma foreign_keys = off");
  await connection.execute("pragma busy_timeout = 10000");
  try {
    const applied = await apply({});
    if (applied.length > 0) {
      const [orphan] = await connection.execute("pragma foreign_key_check");
      if (orphan)
        throw new Error(`The migration left rows without their parents: ${JSON.stringify(orphan)}.`);
    }
    return applied;
  } finally {
    await connection.execute(`pragma busy_timeout = ${BUSY_MS}`);
    await connection.execute("pragma foreign_keys = on");
  }
};

/** SQLite counts by itself; the connection that writes here sees only others raise that count. */
const openChangeFeed: Dialect["openChangeFeed"] = async ({ em }) => {
  const statement = (await handleOf(em, "write")).prepare<[], number>("pragma data_version").pluck();
  let counted: number | undefined;
  // Once for all that has come until the process looks for more: nothing that was acknowledged before it came is missed.
  const countWrites = () => {
    if (counted === undefined) {
      counted = statement.get()!;
      setImmediate(() => {
        counted = undefined;
      });
    }
    return counted;
  };
  return { countWrites, notify: async () => {}, close: async () => {} };
};

type Prepare = (statement: string) => Statement;

const runEach = (statements: { statement: string; values: unknown[] }[]) => (prepare: Prepare) =>
  statements.map(({ statement, values }) =>
    (prepare(statement).all(values) as { id: string }[]).map(({ id }) => id),
  );

const insertEach = (inserts: Insert[]) => (prepare: Prepare) => {
  refuseDeletedSync(inserts, prepare);
  const addWords = placeWords(inserts, prepare);
  for (const { statement, rows } of inserts) {
    const prepared = prepare(statement);
    for (const values of rows) prepared.run(values);
  }
  addWords();
};

const preparedOf = new WeakMap<Database, Map<string, Statement>>();

/**
 * Runs prepared statements in one transaction, on the ORM's own connection, which nobody else uses meanwhile: a second
 * one that writes would block this process.
 */
function writeAlone<Result>(
  { em }: Parameters<Dialect["runEach"]>[0],
  write: (prepare: Prepare) => Result,
): Promise<Result> {
  return em
    .getKysely()
    .connection()
    .execute(async () => {
      const handle = await handleOf(em, "write");
      const known = preparedOf.get(handle) ?? new Map<string, Statement>();
      preparedOf.set(handle, known);
      handle.exec("begin immediate");
      try {
        const result = write((statement) => {
          const prepared = known.get(statement) ?? handle.prepare(statement);
          known.set(statement, prepared);
          return prepared;
        });
        handle.exec("commit");
        return result;
      } catch (error) {
        if (handle.inTransaction) handle.exec("rollback"); // of a full disk SQLite rolls back by itself
        throw error;
      }
    });
}

interface PragmaConnection {
  executeQuery(query: CompiledQuery): Promise<{ rows: Record<string, unknown>[] }>;
}

const SYNCHRONOUS_FULL = 2;

/** WAL with FULL sync: with less, a power cut may undo what was committed last (https://sqlite.org/pragma.html#pragma_synchronous). */
function setPragmas(more: string[]) {
  return async (connection: unknown) => {
    const pragma = async (statement: string) => {
      const { rows } = await (connection as PragmaConnection).executeQuery(
        CompiledQuery.raw(`pragma ${statement}`),
      );
      return Object.values(rows[0] ?? {})[0];
    };
    for (const statement of ["journal_mode = wal", "synchronous = full", "temp_store = memory", ...more]) {
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
