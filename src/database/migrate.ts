import { setTimeout as wait } from "node:timers/promises";
import type { MigrateOptions } from "./dialect.ts";
import { NewerDatabaseError, refuseNewer } from "./newerDatabase.ts";
import type { Database } from "./open.ts";

/**
 * Migrates the database to the schema of this program; returns the names of the applied migrations. When several programs
 * start at once, one migrates and the others wait. Throws when a newer program made the database.
 */
export async function migrate(database: Database): Promise<string[]> {
  return database.dialect.migrateAlone(database.orm, (options) => applyPending(database, options));
}

/** Prepares the database at start: migrates it, or throws if it does not have the schema of this program. */
export async function bringUpToDate(
  database: Database,
  { migrateOnStart }: { migrateOnStart: boolean },
): Promise<void> {
  if (migrateOnStart) return void (await migrate(database));
  await refuseNewerDatabase(database);
  const pendingMigrations = await database.orm.migrator.getPending();
  if (pendingMigrations.length === 0) return;
  const names = pendingMigrations.map(({ name }) => name).join(", ");
  throw new Error(`The database lacks ${names}. Bring it up to date with: gabbro migrate`);
}

const ATTEMPTS = 4;
const ATTEMPT_MS = 100;

/** On SQLite two processes may migrate at once: one of them fails, retries, and finds nothing left to apply. */
async function applyPending(database: Database, options: MigrateOptions, attempt = 1): Promise<string[]> {
  try {
    await refuseNewerDatabase(database);
    return (await database.orm.migrator.up(options)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof NewerDatabaseError || options.transaction || attempt === ATTEMPTS) throw error;
    await wait(ATTEMPT_MS * attempt);
    return applyPending(database, options, attempt + 1);
  }
}

async function refuseNewerDatabase({ orm, dialect }: Database): Promise<void> {
  refuseNewer(
    (await orm.migrator.getExecuted()).map(({ name }) => name),
    dialect.migrations,
  );
}
