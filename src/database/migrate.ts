import { setTimeout as wait } from "node:timers/promises";
import type { MigrateOptions } from "./dialect.ts";
import { NewerDatabaseError, refuseNewer } from "./newerDatabase.ts";
import type { Database } from "./open.ts";
import { BackupError, backUpBeforeMigrating } from "./upgradeBackup.ts";

/**
 * Migrates the database to the schema of this program; returns the names of the applied migrations. When several programs
 * start at once, one migrates and the others wait. Throws when a newer program made the database.
 */
export async function migrate(database: Database): Promise<string[]> {
  return migrateAfter(database, async () => {});
}

function migrateAfter(database: Database, prepare: () => Promise<void>): Promise<string[]> {
  const { dialect, orm } = database;
  return dialect.migrateAlone(orm, (options) => applyPending(database, { options, prepare }));
}

/** Like `migrate`, but first copies a database that has data, and returns the file or the schema with the copy, too. */
export async function migrateWithBackup(
  database: Database,
): Promise<{ applied: string[]; backup: string | null }> {
  let backup: string | null = null;
  const applied = await migrateAfter(database, async () => {
    backup ??= await backUpBeforeMigrating(database); // not again with each attempt
  });
  return { applied, backup };
}

/**
 * Prepares the database at start: migrates it, or throws if it does not have the schema of this program. Returns the file
 * or the schema into which it copied the database before, or null.
 */
export async function bringUpToDate(
  database: Database,
  { migrateOnStart }: { migrateOnStart: boolean },
): Promise<string | null> {
  if (migrateOnStart) return (await migrateWithBackup(database)).backup;
  await refuseNewerDatabase(database);
  const pendingMigrations = await database.orm.migrator.getPending();
  if (pendingMigrations.length === 0) return null;
  const names = pendingMigrations.map(({ name }) => name).join(", ");
  throw new Error(`The database lacks ${names}. Bring it up to date with: gabbro migrate`);
}

const ATTEMPTS = 4;
const ATTEMPT_MS = 100;

/** On SQLite two processes may migrate at once: one of them fails, retries, and finds nothing left to apply. */
async function applyPending(
  database: Database,
  { options, prepare }: { options: MigrateOptions; prepare: () => Promise<void> },
  attempt = 1,
): Promise<string[]> {
  try {
    await refuseNewerDatabase(database);
    await prepare();
    return (await database.orm.migrator.up(options)).map(({ name }) => name);
  } catch (error) {
    const isFinal = error instanceof NewerDatabaseError || error instanceof BackupError;
    if (isFinal || options.transaction || attempt === ATTEMPTS) throw error;
    await wait(ATTEMPT_MS * attempt);
    return applyPending(database, { options, prepare }, attempt + 1);
  }
}

async function refuseNewerDatabase({ orm, dialect }: Database): Promise<void> {
  refuseNewer(
    (await orm.migrator.getExecuted()).map(({ name }) => name),
    dialect.migrations,
  );
}
