import { randomUUID } from "node:crypto";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { recreatePrivateFile } from "../privateFiles.ts";
import type { Database } from "./open.ts";

/** The error for a database that cannot be copied. */
export class BackupError extends Error {}

const KEPT = 2;

/**
 * Copies a SQLite database into a file beside it, named after the first migration that it lacks, and removes all but the
 * newest two such files. Returns the file; null when the database is new, lacks nothing or is on a server. Throws
 * BackupError when the copy cannot be made: then nothing may be migrated.
 */
export async function backUpBeforeMigrating({ dialect, orm }: Database): Promise<string | null> {
  const firstPending = async () => (await orm.migrator.getPending())[0]?.name;
  const migration = await firstPending();
  if (!dialect.copyTo || !migration || (await orm.migrator.getExecuted()).length === 0) return null;
  const file = `${dialect.place}.before-${migration}`;
  const partial = `${file}.${randomUUID()}.partial`; // other processes may start at the same time
  try {
    await (await recreatePrivateFile(partial)).close();
    await dialect.copyTo(orm, partial);
    // Another process may have migrated meanwhile: its own backup must stay.
    if ((await firstPending()) !== migration) return null;
    await rename(partial, file);
  } catch (cause) {
    const message = `Nothing was migrated, because the database cannot be copied to ${file}: ${(cause as Error).message}. Make room there, or back it up yourself and run: gabbro migrate --no-backup`;
    throw new BackupError(message, { cause });
  } finally {
    for (const suffix of ["", "-wal", "-shm", "-journal"]) await rm(`${partial}${suffix}`, { force: true });
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
