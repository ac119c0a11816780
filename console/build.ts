import { rename, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { build } from "vite";
import { BUILT, isConsoleStale, newestSourceMs } from "../src/console/sources.ts";

/**
 * Builds into a folder of its own and moves it into place, so that a service which starts meanwhile reads whole files. With
 * `--if-stale`, drops what it built when another process was faster.
 */
const own = `${BUILT}.${process.pid}`;
const replaced = `${own}.replaced`;
const newest = new Date(newestSourceMs());

// Vite takes it from who starts it, and the React for development renders effects twice, which loses the focus of dialogs.
process.env.NODE_ENV = "production";

try {
  await import("./documents.ts");
  await build({ root: import.meta.dirname, build: { outDir: own } });
  // A source that is edited during the build is newer than what is built.
  await utimes(join(own, "index.html"), newest, newest);
  if (!process.argv.includes("--if-stale") || isConsoleStale()) await publish();
} finally {
  for (const folder of [own, replaced]) await rm(folder, { recursive: true, force: true });
}

async function publish(): Promise<void> {
  await rename(BUILT, replaced).catch(unless("ENOENT"));
  await rename(own, BUILT).catch(unless("ENOTEMPTY", "EEXIST", "EPERM")); // another process was faster
}

function unless(...codes: string[]) {
  return (error: NodeJS.ErrnoException) => {
    if (!codes.includes(error.code!)) throw error;
  };
}
