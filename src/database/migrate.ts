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
    await refuseNewerDatabase(orm.migrator);
    const applied = await applyPending(orm.migrator);
    const broken = await connection.execute("pragma foreign_key_check");
    if (broken.length > 0)
      throw new Error(`The migration left rows without their parents: ${JSON.stringify(broken[0])}`);
    return applied;
  } finally {
    await connection.execute("pragma busy_timeout = 50");
    await connection.execute("pragma foreign_keys = on");
  }
}

type Migrator = Database["orm"]["migrator"];

async function applyPending(migrator: Migrator): Promise<string[]> {
  try {
    return (await migrator.up()).map(({ name }) => name);
  } catch (error) {
    // Another process may have migrated the same database in the meantime; then there is nothing left to do.
    if ((await migrator.getPending()).length === 0) return [];
    throw error;
  }
}

async function refuseNewerDatabase(migrator: Migrator): Promise<void> {
  const known = new Set(sqliteMigrations.map(({ name }) => name));
  const unknown = (await migrator.getExecuted()).map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(
      `This database was made by a newer Gabbro (${unknown.join(", ")}). Run that version or a newer one.`,
    );
  }
}
