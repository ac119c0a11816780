import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Database } from "better-sqlite3";
import { createPrivateFolder, recreatePrivateFile } from "../../privateFiles.ts";
import { type Copying, type Filling, MOST_ROWS, nameOf, type Snapshot } from "../copy/copier.ts";
import type { Table, Value } from "../tables.ts";
import { handleOf } from "./connection.ts";

/** How all of a SQLite file is read and written; `path` is where it is. */
export function createSqliteCopying(path: string): Copying {
  return {
    tableNames: "select name from sqlite_master where type = 'table'",
    identity: async () => {
      const { dev, ino } = await stat(path, { bigint: true });
      return `${dev} ${ino}`;
    },
    read: async ({ em }, run) => {
      const handle = await handleOf(em, "read");
      handle.exec("begin");
      try {
        return await run(snapshotOf(handle));
      } finally {
        handle.exec("rollback");
      }
    },
    // The file is thrown away unless all of it is there, and flushed to disk when it is.
    fill: async ({ em }, _, run) => {
      const handle = await handleOf(em, "write");
      handle.exec("pragma synchronous = off; pragma cache_size = -64000; pragma wal_autocheckpoint = 16000");
      return run(fillingOf(handle));
    },
    replace: (make, refuseFull) => replace(path, make, refuseFull),
  };
}

const quote = (name: string) => `\`${name}\``;
const listed = (columns: { name: string }[]) => columns.map(({ name }) => quote(name)).join(", ");

function snapshotOf(handle: Database): Snapshot {
  return {
    execute: async (statement) => handle.prepare<unknown[], Record<string, unknown>>(statement).all(),
    rows: (table) => rowsOf(handle, table),
  };
}

const MOST_CHARACTERS = 1_000_000;

async function* rowsOf(handle: Database, table: Table): AsyncGenerator<Value[][]> {
  const { columns, name, key } = table;
  const select = `select ${listed(columns)} from ${quote(name)} order by ${listed(key)}`;
  const refuseDamaged = createCheck(handle, table);
  let rows: Value[][] = [];
  let characters = 0;
  for (const row of handle.prepare<[], Value[]>(select).raw().iterate()) {
    refuseDamaged(row);
    rows.push(row);
    for (const value of row) if (typeof value === "string") characters += value.length;
    if (rows.length < MOST_ROWS && characters < MOST_CHARACTERS) continue;
    yield rows;
    rows = [];
    characters = 0;
  }
  if (rows.length > 0) yield rows;
}

const storedAs: Record<Table["columns"][number]["kind"], string> = {
  text: "string",
  json: "string",
  number: "number",
  timestamp: "number",
  boolean: "number",
};

/** SQLite keeps anything in any column, and bytes that are no UTF-8 in texts; read as text they would be others. */
function createCheck(handle: Database, table: Table): (row: unknown[]) => void {
  const { columns, name, key } = table;
  const types = columns.map(({ kind }) => storedAs[kind]);
  const where = key.map((column) => `${quote(column.name)} = ?`).join(" and ");
  return (row) => {
    row.forEach((value, at) => {
      if (value === null) return;
      const place = `${quote(columns[at]!.name)} of ${nameOf(table, row as Value[])}`;
      if (typeof value !== types[at])
        throw new Error(`The source has no ${types[at]} in ${place}. Mend it there.`);
      if (typeof value !== "string" || !value.includes("\uFFFD")) return;
      const bytes = handle
        .prepare(`select cast(${quote(columns[at]!.name)} as blob) from ${quote(name)} where ${where}`)
        .raw()
        .get(...key.map((column) => row[columns.indexOf(column)])) as [Buffer];
      if (!isUtf8(bytes[0]))
        throw new Error(`The source has bytes that are no UTF-8 in ${place}. Mend them there.`);
    });
  };
}

function fillingOf(handle: Database): Filling {
  return {
    ...snapshotOf(handle),
    insert: async (table, rows) => {
      const { name, columns } = table;
      const values = columns.map(() => "?").join(", ");
      const statement = handle.prepare(`insert into ${quote(name)} (${listed(columns)}) values (${values})`);
      handle.exec("begin immediate");
      for (const row of rows) {
        try {
          statement.run(row);
        } catch (error) {
          const why = (error as { code?: string }).code ?? (error as Error).message;
          throw new Error(`The target refuses ${nameOf(table, row)} (${why}). Mend it in the source.`, {
            cause: error,
          });
        }
      }
      handle.exec("commit");
    },
  };
}

/** Files beside a database are named after it. */
const ENDS = ["", "-wal", "-shm"];

async function replace<T>(
  path: string,
  make: (url: string) => Promise<T>,
  refuseFull: () => Promise<void>,
): Promise<T> {
  await createPrivateFolder(dirname(path));
  await removeLeftOver(path);
  const partial = `${path}.copy-${process.pid}`;
  try {
    await (await recreatePrivateFile(partial)).close();
    const made = await make(`sqlite:${partial}`);
    if (existsSync(path)) await refuseUsed(path, refuseFull);
    await flush(partial);
    await rename(partial, path);
    await flush(dirname(path)).catch(() => {}); // Windows flushes no folders
    return made;
  } finally {
    for (const end of ENDS) await rm(`${partial}${end}`, { force: true });
  }
}

/** Who had the file open would go on with the one that is gone. SQLite keeps the log of writes as long as anybody has. */
async function refuseUsed(path: string, refuseFull: () => Promise<void>): Promise<void> {
  await refuseFull();
  if (existsSync(`${path}-wal`))
    throw new Error(`The target ${path} is in use by another program. Stop it, then copy again.`);
}

/** What copies that were killed have left. */
async function removeLeftOver(path: string): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    const [, pid] = name.startsWith(`${basename(path)}.copy-`)
      ? (/\.copy-(\d+)(?:-wal|-shm)?$/.exec(name) ?? [])
      : [];
    if (pid && !isRunning(Number(pid))) await rm(join(dirname(path), name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== "ESRCH";
  }
}

async function flush(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
