import { existsSync, statSync } from "node:fs";

/** The endings of the files in which SQLite keeps changes to a database that are not in its own file yet. */
export const SIDE_FILES = ["-wal", "-shm", "-journal"];

/** The names of the files of a database that belong together, for a message. */
export const filesOf = (path: string): string => `${path}, ${path}-wal and ${path}-shm`;

/** Throws when a database that is gone has left its log: SQLite writes that into any file that gets its name. */
export function refuseEarlierLog(path: string): void {
  if (existsSync(path)) return;
  const left = SIDE_FILES.map((ending) => `${path}${ending}`).filter((file) => existsSync(file));
  if (left.length > 0)
    throw new Error(
      `The log of an earlier database is there: ${left.join(" and ")}. Move it next to the database file that it belongs to.`,
    );
}

/** Throws when changes to a database are in its log alone. */
export function refuseOwnLog(path: string): void {
  if (!statSync(`${path}-wal`, { throwIfNoEntry: false })?.size) return;
  throw new Error(
    `There may be changes in ${path}-wal that ${path} lacks. Make a file with both, and restore that: DATABASE_URL=sqlite:${path} gabbro backup FILE`,
  );
}
