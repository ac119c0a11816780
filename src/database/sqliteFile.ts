import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { refuseNewer } from "./migrate.ts";

/**
 * Looks into the file of a database before anything may change it, and never changes it itself. Throws when it is no
 * database of Gabbro, when a newer program made it, and when damage shows without reading all of it: in its length, its
 * schema, or at either end of any table or index. There may be no file yet.
 */
export function inspectFile(path: string, migrations: { name: string }[], patienceMs: number): void {
  if (!statSync(path, { throwIfNoEntry: false })?.size) return;
  const database = new Database(path, { readonly: true, fileMustExist: true, timeout: patienceMs });
  try {
    const tables = tablesOf(database);
    if (tables.length === 0) return;
    if (!tables.some(({ name }) => name === MIGRATIONS))
      throw new Error("The file is a database, but not one of Gabbro.");
    const executed = database.prepare(`select name from ${MIGRATIONS} order by id`).pluck().all();
    refuseNewer(executed as string[], migrations);
    touchEnds(database, tables);
  } catch (error) {
    throw isDamage(error) ? damaged(error as Error) : error;
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
  const all = database.pragma("table_list") as (Table & { schema: string })[];
  return all.filter(({ schema, name }) => schema === "main" && !name.startsWith("sqlite_"));
}

function touchEnds(database: Database.Database, tables: Table[]): void {
  for (const { name, type, wr } of tables) {
    if (type === "view" || type === "virtual") continue;
    const orders = wr ? [""] : ["order by rowid", "order by rowid desc"];
    for (const order of orders)
      database.prepare(`select * from "${name}" not indexed ${order} limit 1`).get();
  }
  const indexes = database.prepare("select name from sqlite_master where type = 'index'").pluck().all();
  const pages = database.prepare("select pagetype from dbstat where name = ? limit 4").pluck();
  for (const name of indexes) {
    if (pages.all(name).includes("corrupted")) throw damaged(new Error(`the index ${name} is not readable`));
  }
}

function isDamage(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith("SQLITE_CORRUPT");
}

function damaged(cause: Error): Error {
  return new Error(
    `It is damaged (${cause.message}) and was left as it is. Move it away and bring back a backup with: gabbro restore FILE`,
    { cause },
  );
}
