import { existsSync } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { vi } from "vitest";

/** Whether this process flushes a new file before it gets its path, and the folder afterwards, while `make` runs. */
export async function flushesOf(path: string, make: () => Promise<unknown>) {
  const handle = await open(dirname(path));
  const prototype: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = prototype;
  const flushed = { before: new Set<number>(), after: new Set<number>() };
  const spy = vi.spyOn(prototype, "sync").mockImplementation(async function (this: FileHandle) {
    const { ino } = await this.stat();
    flushed[existsSync(path) ? "after" : "before"].add(ino);
    await sync.call(this);
  });
  await make();
  spy.mockRestore();
  const [file, folder] = await Promise.all([stat(path), stat(dirname(path))]);
  return { file: flushed.before.has(file.ino), folder: flushed.after.has(folder.ino) };
}
