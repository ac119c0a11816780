import { randomUUID } from "node:crypto";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { recreatePrivateFile } from "../privateFiles.ts";
import type { Database } from "./open.ts";
import { SIDE_FILES } from "./sqlite/sideFiles.ts";

/** The error for a database that cannot be copied. */
export class BackupError extends Error {}

const KEPT = 2;

/**
 * Copies a database that lacks migrations: SQLite into a file beside it, PostgreSQL into a schema of it, named after the first
 * of them. All but the newest two copies are removed. Returns the file or the schema; null when the database is new or lacks
 * nothing. Throws BackupError when the copy cannot be made: then nothing may be migrated.
 */
export async function backUpBeforeMigrating(database: Database): Promise<string | null> {
  const { dialect, orm } = database;
  const migration = await firstPending(database);
  if (!migration || (await orm.migrator.getExecuted()).length === 0) return null;
  if (!dialect.upgradeCopies) return copyToFile(database, migration);
  return dialect.upgradeCopies.make(orm, migration).catch((cause: Error) => {
    throw new BackupError(messageFor("into a schema of its own", cause), { cause });
  });
}

const firstPending = async ({ orm }: Database) => (await orm.migrator.getPending())[0]?.name;

const messageFor = (target: string, { message }: Error) =>
  `Nothing was migrated, because the database cannot be copied ${target}: ${message}. Make that possible, or back it up yourself and run: gabbro migrate --no-backup`;

async function copyToFile(database: Database, migration: string): Promise<string | null> {
  const { dialect, orm } = database;
  if (!dialect.copyTo) return null;
  const file = `${dialect.place}.before-${migration}`;
  const partial = `${file}.${randomUUID()}.partial`; // other processes may start at the same time
  try {
    await (await recreatePrivateFile(partial)).close();
    await dialect.copyTo(orm, partial);
    // Another process may have migrated meanwhile: its own backup must stay.
    if ((await firstPending(database)) !== migration) return null;
    await rename(partial, file);
  } catch (cause) {
    throw new BackupError(messageFor(`to ${file}`, cause as Error), { cause });
  } finally {
    for (const suffix of ["", ...SIDE_FILES]) await rm(`${partial}${suffix}`, { force: true });
  }
  await removeOlder(dialect.place).catch(({ message }: Error) =>
    process.emitWarning(`Older copies of the database cannot be removed: ${message}`),
  );
  return file;
}

const ABANDONED_MS = 3_600_000;

/** Removes older copies, whose names are in the order of their time, and parts that killed processes have left. */
async function removeOlder(place: string): Promise<void> {
  const prefix = `${basename(place)}.before-`;
  const names = (await readdir(dirname(place))).filter((name) => name.startsWith(prefix));
  const backups = names.filter((name) => /^Migration\d{14}_\w+$/.test(name.slice(prefix.length)));
  const pathOf = (name: string) => join(dirname(place), name);
  for (const name of backups.toSorted().slice(0, -KEPT)) await rm(pathOf(name), { force: true });
  for (const name of names.filter((each) => /\.[\da-f-]{36}\.partial$/.test(each))) {
    const written = await stat(pathOf(name)).catch(() => null);
    if (written && Date.now() - written.mtimeMs > ABANDONED_MS) await rm(pathOf(name), { force: true });
  }
}
