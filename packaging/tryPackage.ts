import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countRows, doMainJob, queryAt, startPackage } from "./mainJob.ts";

// Does with the package what someone does who has only the tarball: installs it into an empty folder, starts it and does
// the main job. Needs the registry of npm, or its cache. Exits with 1 at the first thing that is wrong.
const MAX_START_MS = 1_000;
const MAX_STARTS = 5;
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "gabbro-package-"));

function npm(cwd: string, ...args: string[]): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

function report(line: string, startedAt: number): number {
  const ms = Math.round(performance.now() - startedAt);
  console.log(`${line}: ${ms.toLocaleString("en")} ms`);
  return ms;
}

try {
  const tarball = npm(root, "pack", "--silent", "--pack-destination", folder).trim();
  const installedAt = performance.now();
  npm(
    folder,
    "install",
    "--prefer-offline",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    join(folder, tarball),
  );
  report("installed", installedAt);
  console.log(npm(folder, "exec", "--", "gabbro", "--version").trim());

  const token = randomUUID();
  const program = join(folder, "node_modules/gabbro/bin/gabbro.js");
  const first = await startPackage(process.execPath, program, { folder, token });
  await doMainJob(first.url, token);
  const rows = await countRows(queryAt(first.url, token));
  if ((await first.stop()) !== 0) throw new Error("The service did not end with 0 after SIGTERM.");
  console.log("did the main job");

  const starts: number[] = [];
  while (starts.length < MAX_STARTS && !starts.some((ms) => ms <= MAX_START_MS)) {
    const startedAt = performance.now();
    const again = await startPackage(process.execPath, program, { folder, token });
    starts.push(report("ready after a restart", startedAt));
    const rowsAfter = await countRows(queryAt(again.url, token));
    await again.stop();
    if (rowsAfter !== rows) throw new Error(`There were ${rows} rows, and ${rowsAfter} after a restart.`);
  }
  const isSlow = Math.min(...starts) > MAX_START_MS;
  if (isSlow && loadavg()[0]! > availableParallelism())
    console.log("The machine is too busy to judge the time of a start.");
  else if (isSlow) throw new Error(`A start takes more than ${MAX_START_MS} ms.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
