import { type FileHandle, mkdir, open, rm } from "node:fs/promises";

/** Creates a folder that only its user may open, with its missing parents; an existing folder stays as it is. */
export async function createPrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Creates a file that only its user may read. EEXIST when the name is taken, even by a link. */
export function createPrivateFile(path: string): Promise<FileHandle> {
  return open(path, "wx", 0o600);
}

/** Like `createPrivateFile`, but replaces whatever has the name. */
export async function recreatePrivateFile(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return createPrivateFile(path);
}
