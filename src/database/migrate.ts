import { setTimeout as wait } from "node:timers/promises";
import { sqliteMigrations } from "./migrations/sqlite/list.ts";
import type { Database } from "./open.ts";

/**
 * Brings the database to the schema of this program; returns the names of the migrations that it applied.
 * Throws when the database was made by a newer program.
 */
export async function migrate({ orm }: Database): Promise<string[]> {
  const connection = orm.em.getConnection("write");
  // Rebuilding a table drops the old one, and with foreign keys on that silently deletes the rows that point to it.
  // The pragma does nothing inside a transaction, so it stands around the migrator's.
  await connection.execute("pragma foreign_keys = off");
  await connection.execute("pragma busy_timeout = 10000");
  try {
    const applied = await applyPending(orm.migrator);
    if (applied.length > 0) await refuseOrphans(connection);
    return applied;
  } finally {
    await connection.execute("pragma busy_timeout = 50");
    await connection.execute("pragma foreign_keys = on");
  }
}

const ATTEMPTS = 4;
const ATTEMPT_MS = 100;

class NewerDatabaseError extends Error {}

type Migrator = Database["orm"]["migrator"];
type Connection = ReturnType<Database["orm"]["em"]["getConnection"]>;

/** Two processes may migrate one database at once; then one of them fails, and finds the work done when it looks again. */
async function applyPending(migrator: Migrator, attempt = 1): Promise<string[]> {
  try {
    await refuseNewerDatabase(migrator);
    return (await migrator.up()).map(({ name }) => name);
  } catch (error) {
    if (error instanceof NewerDatabaseError || attempt === ATTEMPTS) throw error;
    await wait(ATTEMPT_MS * attempt);
    return applyPending(migrator, attempt + 1);
  }
}

async function refuseOrphans(connection: Connection): Promise<void> {
  const [orphan] = await connection.execute("pragma foreign_key_check");
  if (orphan) throw new Error(`The migration left rows without their parents: ${JSON.stringify(orphan)}.`);
}

async function refuseNewerDatabase(migrator: Migrator): Promise<void> {
  const known = new Set(sqliteMigrations.map(({ name }) => name));
  const unknown = (await migrator.getExecuted()).map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new NewerDatabaseError(
      `This database was made by a newer Gabbro (${unknown.join(", ")}). Run that version or a newer one.`,
    );
  }
}
