import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { dirname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { createPrivateFile, createPrivateFolder } from "../privateFiles.ts";
import { migrate } from "./migrate.ts";
import { type Database, type Entities, missingDatabase, openDatabase } from "./open.ts";
import { flushAndRenameToNew, removeDatabase, removeLeftovers } from "./sqlite/partialFiles.ts";
import { filesOf, refuseEarlierLog, refuseOwnLog } from "./sqlite/sideFiles.ts";

const NOT_FOR_POSTGRESQL =
  "PostgreSQL has its own programs for backups: pg_dump --format=custom --file=FILE, and pg_restore.";

/**
 * Copies the database into a file, consistent even while other requests write: the copy has all that was acknowledged before
 * it began. The file appears only once it is complete and checked. Throws when the file exists.
 */
export async function backUp(database: Database, file: string, entities: Entities): Promise<void> {
  const { dialect, orm } = database;
  if (!dialect.copyTo) throw new Error(NOT_FOR_POSTGRESQL);
  const taken = () => new Error(`The file ${file} already exists; name another.`);
  if (!missingDatabase(`sqlite:${file}`)) throw taken();
  await createChecked({ path: file, taken }, entities, (partial) => dialect.copyTo!(orm, partial));
}

/**
 * Makes the database at `url` from a backup, and migrates it to the schema of this program. On PostgreSQL the backup is the
 * schema that an upgrade made, and the database is as it was then. Throws when there is a database already, or one is made
 * meanwhile, because it would be lost, and when the file is not a complete database or has changes beside it.
 */
export async function restore(file: string, url: string, entities: Entities): Promise<void> {
  if (!url.startsWith("sqlite:")) return restoreUpgradeCopy(file, url, entities);
  const path = missingDatabase(url);
  if (!path) {
    const files = filesOf(resolve(url.slice("sqlite:".length)));
    throw new Error(`There is a database already. Stop the service and move it away first: ${files}.`);
  }
  if (missingDatabase(`sqlite:${file}`)) throw new Error(`There is no file ${file}.`);
  refuseOwnLog(file);
  const taken = () =>
    new Error(
      `Nothing was restored: a database was made there meanwhile, as by a service that started. Stop the service, move the database away and restore again: ${filesOf(path)}.`,
    );
  await createChecked({ path, taken }, entities, (partial) =>
    pipeline(createReadStream(file), createWriteStream(partial, { flags: "r+" })),
  );
}

async function restoreUpgradeCopy(copy: string, url: string, entities: Entities): Promise<void> {
  if (!copy.startsWith("before_")) throw new Error(NOT_FOR_POSTGRESQL);
  const database = await openDatabase(url, entities);
  try {
    await database.dialect.upgradeCopies!.restore(database.orm, copy);
  } finally {
    await database.close();
  }
}

/**
 * Makes a private database file under another name, and renames it once it is complete and checked. Throws what `taken`
 * returns when there is a file at `path` by then.
 */
async function createChecked(
  { path, taken }: { path: string; taken: () => Error },
  entities: Entities,
  make: (partial: string) => Promise<void>,
): Promise<void> {
  const partial = `${path}.${process.pid}-${randomUUID()}.partial`; // another process may make the same file
  refuseEarlierLog(path);
  await createPrivateFolder(dirname(path));
  await removeLeftovers(`${path}.`, /\.(\d+)-[\da-f-]{36}\.partial$/);
  try {
    await (await createPrivateFile(partial)).close();
    await make(partial);
    await check(partial, entities);
    refuseEarlierLog(path);
    await flushAndRenameToNew(partial, path, taken);
  } finally {
    await removeDatabase(partial);
  }
}

async function check(path: string, entities: Entities): Promise<void> {
  const database = await openDatabase(`sqlite:${path}`, entities);
  try {
    const tables = await database.orm.em
      .fork()
      .execute("select 1 from sqlite_master where name = 'workspaces'");
    if (tables.length === 0) throw new Error("The file is a database, but not one of Gabbro.");
    const [result] = await database.orm.em
      .fork()
      .execute<{ integrity_check: string }[]>("pragma integrity_check");
    if (result?.integrity_check !== "ok") throw new Error(`${path} is damaged: ${result?.integrity_check}`);
    await migrate(database);
  } finally {
    await database.close();
  }
}
