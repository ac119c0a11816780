import { randomUUID } from "node:crypto";
import { lstat, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createPrivateFile } from "../privateFiles.ts";

/** Writes pieces to a file as `writeFileWhole` does, or to the standard output, no faster than its reader. */
export async function writeOut(
  path: string | undefined,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  if (path !== undefined) return writeFileWhole(path, pieces);
  await pipeline(pieces, process.stdout, { end: false }).catch((error) => {
    if (error.code !== "EPIPE") throw error; // its reader has ended, such as `head`
  });
}

/**
 * Writes a file, which appears once it is complete. Only its user may read a new file; a replaced one passes its
 * permissions on. Throws when the path is a link or anything else but a file.
 */
export async function writeFileWhole(
  path: string,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  const previous = await findFile(path);
  const partial = `${path}.${randomUUID()}.partial`; // another process may write the same file
  try {
    const file = await createPrivateFile(partial);
    if (previous) await file.chmod(previous.mode & 0o777);
    await pipeline(pieces, file.createWriteStream());
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
}

/** The stats of a file; null when there is none. Throws when the path is anything else but a file. */
export async function findFile(path: string) {
  const stats = await lstat(path).catch(() => null);
  if (stats && !stats.isFile())
    throw new Error(
      `${path} is ${stats.isSymbolicLink() ? "a symbolic link" : "not a file"}. Name a file, or a new one.`,
    );
  return stats;
}
