import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { createPrivateFile, createPrivateFolder } from "../../privateFiles.ts";
import { refuseNewer } from "../newerDatabase.ts";
import { filesOf, refuseEarlierLog } from "./sideFiles.ts";

/** Makes the file of a new database, which only its user may read. SQLite gives its other files the same permissions. */
export async function createFile(path: string): Promise<void> {
  if (existsSync(path)) return;
  refuseEarlierLog(path); // SQLite would delete it, with what it alone holds
  await createPrivateFolder(dirname(path));
  try {
    await (await createPrivateFile(path)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // another process was faster
  }
}

const READ_BY_OTHERS = 0o004;
const OPENED_BY_OTHERS = 0o001;

/** Whether every user of the machine may read a file: its own permissions and those of all its folders must allow it. */
export function isWorldReadable(path: string): boolean {
  if (process.platform === "win32" || !(statSync(path).mode & READ_BY_OTHERS)) return false;
  for (let at = path; at !== dirname(at); at = dirname(at))
    if (!(statSync(dirname(at)).mode & OPENED_BY_OTHERS)) return false;
  return true;
}

/**
 * Checks the file of a database, if it exists, without changing it. Throws when it is not a database of Gabbro, when a newer
 * program made it, and when it has damage that shows without reading all of it: in its length, in its schema, or at either
 * end of any table or index.
 */
export function inspectFile(path: string, migrations: { name: string }[], timeoutMs: number): void {
  if (!statSync(path, { throwIfNoEntry: false })?.size) return;
  const database = new Database(path, { readonly: true, fileMustExist: true, timeout: timeoutMs });
  try {
    const tables = tablesOf(database);
    if (tables.length === 0) return;
    if (!tables.some(({ name }) => name === MIGRATIONS))
      throw new Error("The file is a database, but not one of Gabbro.");
    const names = database.prepare(`select name from ${MIGRATIONS} order by id`).pluck().all();
    refuseNewer(names as string[], migrations);
    readEnds(database, tables);
  } catch (error) {
    throw isDamage(error) ? damaged(database, error as Error) : error;
  } finally {
    database.close();
  }
}

const MIGRATIONS = "mikro_orm_migrations";

interface Table {
  name: string;
  type: "table" | "shadow" | "virtual" | "view";
  /** 1 when it is WITHOUT ROWID. */
  wr: 0 | 1;
}

function tablesOf(database: Database.Database): Table[] {
  const tables = database.pragma("table_list") as (Table & { schema: string })[];
  return tables.filter(({ schema, name }) => schema === "main" && !name.startsWith("sqlite_"));
}

function readEnds(database: Database.Database, tables: Table[]): void {
  for (const { name, type, wr } of tables) {
    if (type === "view" || type === "virtual") continue;
    const orders = wr ? [""] : ["order by rowid", "order by rowid desc"];
    for (const order of orders)
      database.prepare(`select * from "${name}" not indexed ${order} limit 1`).get();
  }
  const indexes = database.prepare("select name from sqlite_master where type = 'index'").pluck().all();
  const pages = database.prepare("select pagetype from dbstat where name = ? limit 4").pluck();
  for (const name of indexes) {
    if (pages.all(name).includes("corrupted"))
      throw damaged(database, new Error(`the index ${name} is not readable`));
  }
}

function isDamage(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith("SQLITE_CORRUPT");
}

function damaged({ name }: Database.Database, cause: Error): Error {
  return new Error(
    `It is damaged (${cause.message}) and was not changed. Move ${filesOf(name)} away and restore a backup with: gabbro restore FILE`,
    { cause },
  );
}
