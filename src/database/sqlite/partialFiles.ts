import { existsSync } from "node:fs";
import { link, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SIDE_FILES } from "./sideFiles.ts";

/** Gives a complete file its name. A power cut afterwards loses neither. */
export async function flushAndRename(partial: string, path: string, renameTo = rename): Promise<void> {
  await flush(partial, "r+"); // Windows flushes no file that is open for reading alone
  await renameTo(partial, path);
  await flush(dirname(path), "r").catch(() => {}); // Windows cannot flush folders
}

/** The same, but throws what `taken` returns when there is a file of that name by now, which stays as it is. */
export const flushAndRenameToNew = (partial: string, path: string, taken: () => Error): Promise<void> =>
  flushAndRename(partial, path, async () => {
    try {
      await link(partial, path); // a rename would replace the file
    } catch {
      if (existsSync(path)) throw taken();
      return rename(partial, path); // FAT, exFAT and some network file systems have no links
    }
    await unlink(partial);
  });

async function flush(path: string, flags: string): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

const filesOf = (path: string) => ["", ...SIDE_FILES].map((ending) => `${path}${ending}`);

/** Deletes a database with its side files, where they exist. */
export async function removeDatabase(path: string): Promise<void> {
  for (const file of filesOf(path)) await rm(file, { force: true });
}

/**
 * Deletes the partial files that killed processes have left: the databases whose paths begin with `prefix` and whose names
 * match `pattern`, with the id of their process as its group.
 */
export async function removeLeftovers(prefix: string, pattern: RegExp): Promise<void> {
  const folder = dirname(prefix);
  const names = (await readdir(folder)).filter((name) => name.startsWith(basename(prefix)));
  for (const name of new Set(names.map(withoutEnding))) {
    const match = pattern.exec(name);
    if (match && (await isLeft(join(folder, name), match[1]))) await removeDatabase(join(folder, name));
  }
}

const withoutEnding = (name: string) =>
  name.slice(0, name.length - (SIDE_FILES.find((ending) => name.endsWith(ending)) ?? "").length);

/** The process may be one of another container, where ids mean other processes. */
const ABANDONED_MS = 3_600_000;

async function isLeft(path: string, pid: string | undefined): Promise<boolean> {
  if (pid && !isRunning(Number(pid))) return true;
  const times = filesOf(path).map((file) =>
    stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    ),
  );
  const writtenMs = Math.max(...(await Promise.all(times)));
  // In a container each start has the same id as the one before it.
  const isOfEarlierStart = Number(pid) === process.pid && writtenMs < performance.timeOrigin;
  return isOfEarlierStart || Date.now() - writtenMs > ABANDONED_MS;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code !== "ESRCH";
  }
}
