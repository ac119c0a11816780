import { type FileHandle, mkdir, open, rm } from "node:fs/promises";

/** Makes a folder, with those above it that are missing, which only its user may open; one that is there stays as it is. */
export async function createPrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Makes a file that only its user may read. EEXIST when anything has that name: a link is not followed. */
export function createPrivateFile(path: string): Promise<FileHandle> {
  return open(path, "wx", 0o600);
}

/** The same in place of whatever had that name. */
export async function recreatePrivateFile(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return createPrivateFile(path);
}
