import { lstat, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { recreatePrivateFile } from "../privateFiles.ts";

/** Writes pieces to a file as `writeFileWhole` does, or to the standard output; no faster than that takes them. */
export async function writeOut(
  path: string | undefined,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  if (path !== undefined) return writeFileWhole(path, pieces);
  await pipeline(pieces, process.stdout, { end: false }).catch((error) => {
    if (error.code !== "EPIPE") throw error; // whoever reads it has enough, such as `head`
  });
}

/**
 * Writes a file, which appears once it is whole. Only its user may read a new one; one that is replaced gives its
 * permissions. Throws where the name is that of a link or of anything else that is no file.
 */
export async function writeFileWhole(
  path: string,
  pieces: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  const replaced = await findFile(path);
  const partial = `${path}.partial`;
  try {
    const file = await recreatePrivateFile(partial);
    if (replaced) await file.chmod(replaced.mode & 0o777);
    await pipeline(pieces, file.createWriteStream());
    await rename(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
}

/** The file of that name, null when there is none; throws when it is none. */
export async function findFile(path: string) {
  const found = await lstat(path).catch(() => null);
  if (found && !found.isFile())
    throw new Error(
      `${path} is ${found.isSymbolicLink() ? "a symbolic link" : "not a file"}. Name a file, or a new one.`,
    );
  return found;
}
