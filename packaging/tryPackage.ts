import { strict as assert } from "node:assert";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import packageJson from "../package.json" with { type: "json" };
import { countRows, doMainJob, queryAt, startPackage } from "./mainJob.ts";

// Does with the package what someone does who has only the tarball: installs it into an empty folder, starts it and does
// the main job. The argument is the tarball; without one, it is made. Needs the registry of npm, or its cache. Exits with 1 at
// the first thing that is wrong.
const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "gabbro-package-"));

function npm(cwd: string, ...args: string[]): string {
  const options = { cwd, encoding: "utf8", maxBuffer: 50_000_000 } as const;
  return execFileSync("npm", args, { ...options, stdio: ["ignore", "pipe", "inherit"] });
}

/** Says how long something took. No limit judges it: the same installation takes 8 s or 20 s on machines with other networks. */
async function timed<Result>(what: string, run: () => Promise<Result> | Result): Promise<Result> {
  const startedAt = performance.now();
  const result = await run();
  console.log(`${what}: ${Math.round(performance.now() - startedAt).toLocaleString("en")} ms`);
  return result;
}

/** Installs the tarball into an empty folder; returns the folder. */
function install(tarball: string): string {
  const folder = mkdtempSync(join(work, "empty-"));
  npm(folder, "install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error", tarball);
  return folder;
}

/** The program starts by an older Node.js too, where the package brings a newer one. */
function tryOldNode(folder: string): void {
  const node = `node-${process.platform}-${process.arch}`;
  if (!Object.hasOwn(packageJson.optionalDependencies, node)) return;
  const byOldNode = (...args: string[]) =>
    npm(folder, "exec", "--yes", `--package=${node}@20`, "--", "node", ...args);
  assert.match(byOldNode("--version"), /^v20\./);
  assert.match(byOldNode("node_modules/gabbro/bin/gabbro.js", "--help"), /^Usage: gabbro /);
  console.log("helps by Node.js 20");
}

/** npm makes a bill of materials in both of its forms, once the folder has a name and a version. */
function tryBills(folder: string): void {
  npm(folder, "pkg", "set", "name=tried", "version=1.0.0");
  const bill = (form: string) => JSON.parse(npm(folder, "sbom", "--omit=dev", `--sbom-format=${form}`));
  const lists: { name: string; group?: string }[][] = [bill("cyclonedx").components, bill("spdx").packages];
  for (const list of lists) {
    const names = list.map(({ group, name }) => (group ? `${group}/${name}` : name));
    for (const name of ["gabbro", ...Object.keys(packageJson.dependencies)])
      assert.ok(names.includes(name), `npm sbom does not name ${name}`);
  }
  console.log(`npm sbom names ${lists[0]!.length} packages`);
}

async function tryService(folder: string): Promise<void> {
  const token = randomUUID();
  const program = join(folder, "node_modules/gabbro/bin/gabbro.js");
  const first = await startPackage(process.execPath, program, { folder, token });
  await doMainJob(first.url, token);
  const rows = await countRows(queryAt(first.url, token));
  assert.equal(await first.stop(), 0, "the exit code after SIGTERM");
  console.log("did the main job");

  const again = await timed("ready after a restart", () =>
    startPackage(process.execPath, program, { folder, token }),
  );
  const rowsAfter = await countRows(queryAt(again.url, token));
  assert.equal(await again.stop(), 0, "the exit code after SIGTERM");
  assert.equal(rowsAfter, rows, "the rows after a restart");
}

try {
  const [given] = process.argv.slice(2);
  const packed = given ?? npm(root, "pack", "--silent", "--pack-destination", work).trim();
  const tarball = resolve(given ? root : work, packed);
  const folder = await timed("installed", () => install(tarball));
  console.log(npm(folder, "exec", "--", "gabbro", "--version").trim());
  tryOldNode(folder);
  tryBills(folder);
  await tryService(folder);
} finally {
  rmSync(work, { recursive: true, force: true });
}
