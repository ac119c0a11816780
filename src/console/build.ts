import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { BUILT, CONSOLE, isConsoleStale } from "./sources.ts";

interface Log {
  info(message: string): void;
  warn(message: string): void;
}

const LIMIT_MS = 120_000;
/** For people: a start fetches nothing. */
export const INSTALL_AND_BUILD = "run npm ci --prefix console && npm run console, or set CONSOLE=false";

/** Builds the console where its sources are newer. Where that fails, the service starts with what was built before. */
export async function buildStaleConsole(log: Log): Promise<void> {
  if (!isConsoleStale()) return;
  if (!existsSync(join(CONSOLE, "node_modules/vite"))) {
    const isOld = existsSync(BUILT); // else, reading it warns
    if (isOld) log.warn(`the console is older than its sources: ${INSTALL_AND_BUILD}`);
    return;
  }
  log.info("building the console, which takes some seconds: its sources are newer than what was built");
  try {
    const options = { cwd: CONSOLE, timeout: LIMIT_MS };
    await promisify(execFile)(process.execPath, ["build.ts", "--if-stale"], options);
  } catch (error) {
    log.warn(`cannot build the console: ${INSTALL_AND_BUILD}. ${(error as Error).message}`);
  }
}
