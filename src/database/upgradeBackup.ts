import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { recreatePrivateFile } from "../privateFiles.ts";
import type { Database } from "./open.ts";
import { flushAndRename, removeDatabase, removeLeftovers } from "./sqlite/partialFiles.ts";

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
  const partial = `${file}.${process.pid}-${randomUUID()}.partial`; // other processes may start at the same time
  await removeParts(dialect.place).catch(warnOf("Parts of copies of the database"));
  try {
    await (await recreatePrivateFile(partial)).close();
    await dialect.copyTo(orm, partial);
    // Another process may have migrated meanwhile: its own backup must stay.
    if ((await firstPending(database)) !== migration) return null;
    await flushAndRename(partial, file);
  } catch (cause) {
    throw new BackupError(messageFor(`to ${file}`, cause as Error), { cause });
  } finally {
    await removeDatabase(partial);
  }
  await removeOlder(dialect.place).catch(warnOf("Older copies of the database"));
  return file;
}

const warnOf =
  (files: string) =>
  ({ message }: Error) =>
    process.emitWarning(`${files} cannot be removed: ${message}`);

/** Removes what killed starts have left, which may fill the disk. Earlier versions wrote no process id. */
const removeParts = (place: string) =>
  removeLeftovers(`${place}.before-`, /\.(?:(\d+)-)?[\da-f-]{36}\.partial$/);

/** Removes older copies, whose names are in the order of their time. */
async function removeOlder(place: string): Promise<void> {
  const prefix = `${basename(place)}.before-`;
  const names = (await readdir(dirname(place))).filter((name) => name.startsWith(prefix));
  const backups = names.filter((name) => /^Migration\d{14}_\w+$/.test(name.slice(prefix.length)));
  for (const name of backups.toSorted().slice(0, -KEPT))
    await rm(join(dirname(place), name), { force: true });
}
