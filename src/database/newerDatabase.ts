/** The database has migrations that this program does not know. */
export class NewerDatabaseError extends Error {}

/** Throws when a database in which these migrations were executed was made by a newer program. */
export function refuseNewer(executed: string[], known: { name: string }[]): void {
  const unknown = executed.filter((name) => !known.some((migration) => migration.name === name));
  if (unknown.length === 0) return;
  throw new NewerDatabaseError(
    `This database was made by a newer Gabbro (${unknown.join(", ")}). Run that version or a newer one.`,
  );
}
