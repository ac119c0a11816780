/** The error for a database with migrations that this program does not have. */
export class NewerDatabaseError extends Error {}

/** Throws NewerDatabaseError when a database has migrations that this program does not have. */
export function refuseNewer(executed: string[], migrations: { name: string }[]): void {
  const unknown = executed.filter((name) => !migrations.some((migration) => migration.name === name));
  if (unknown.length === 0) return;
  throw new NewerDatabaseError(
    `This database was made by a newer Gabbro (${unknown.join(", ")}). Run that version or a newer one.`,
  );
}
