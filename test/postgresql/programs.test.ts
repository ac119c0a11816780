import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { runCommand } from "../support/commandLine.ts";
import { urlOf } from "../support/postgresSetup.ts";
import { newPostgresqlDatabase } from "../support/server.ts";

const program = fileURLToPath(new URL("../../bin/gabbro.js", import.meta.url));
const { url, drop } = await newPostgresqlDatabase("bare");
const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
afterAll(async () => {
  await drop();
  await rm(folder, { recursive: true, force: true });
});

const settings = (more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH!,
  HOST: "127.0.0.1",
  PORT: "0",
  OTLP_GRPC_PORT: "off",
  DATABASE_URL: url,
  ...more,
});

/** Runs `gabbro` to its end and gives all that it said. */
async function gabbro(args: string[], more?: Record<string, string>): Promise<string> {
  const run = promisify(execFile)(process.execPath, [program, ...args], { cwd: folder, env: settings(more) });
  const { stdout, stderr } = await run.catch((error) => error as { stdout: string; stderr: string });
  return stdout + stderr;
}

/** Starts the service and gives its first words once it is ready. */
async function serve() {
  const child = spawn(process.execPath, [program, "serve"], { cwd: folder, env: settings() });
  let said = "";
  for await (const chunk of child.stdout) {
    said += chunk;
    if (said.includes("Gabbro is ready") && said.includes("\n\n")) break;
  }
  return { child, said };
}

test("a server that is missing is reported in one line, without the password", async () => {
  const said = await gabbro(["serve"], { DATABASE_URL: "postgresql://me:canary-2f8@127.0.0.1:9/db" });
  expect(said).toMatch(/^gabbro: Cannot open the database db on 127\.0\.0\.1:9: .*ECONNREFUSED.*\n$/);
  expect(said).not.toContain("canary");
});

test.each([["serve"], ["migrate"], ["token", "list"]])(
  "a database that was never made is named, with how to make it: gabbro %s %s",
  async (...command) => {
    const { host } = new URL(url);
    expect(await gabbro(command.filter(Boolean), { DATABASE_URL: urlOf(url, "missing") })).toBe(
      `gabbro: Cannot open the database missing on ${host}: it does not exist. Create it, for example with: createdb --encoding=UTF8 missing\n`,
    );
  },
);

describe("on one database, from its first start on", { shuffle: false }, () => {
  test("a start that must not migrate refuses a database that needs it, and names the command", async () => {
    const said = await gabbro(["serve"], { MIGRATE_ON_START: "off" });
    expect(said).toContain("Bring it up to date with: gabbro migrate");
  });

  test("two gateways start at once on an empty database: one fills it and writes the token to a file, both serve", async () => {
    const started = await Promise.all([serve(), serve()]);
    expect(started.filter(({ said }) => said.includes("on a new database"))).toHaveLength(1);
    const headers = {
      authorization: `Bearer ${readFileSync(join(folder, "data", "first-token"), "utf8").trim()}`,
    };
    for (const { child, said } of started) {
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0];
      expect((await fetch(`${address}/ready`)).status).toBe(200);
      expect((await fetch(`${address}/datasets/country-quiz`, { headers })).status).toBe(200);
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    }
  });

  test("the command line works on the database of a server; backups are left to its own programs", async () => {
    expect(await gabbro(["migrate"])).toBe("Nothing to do.\n");
    expect(await gabbro(["workspace", "create", "team-b"])).toContain("team-b");
    expect(await gabbro(["token", "list"], { MIGRATE_ON_START: "off" })).toContain("first");
    const read = async (command: string) =>
      JSON.parse((await runCommand(folder, [...command.split(" "), "--json"], settings())).stdout);
    expect(await read("prompt list --search Guide")).toMatchObject([{ slug: "country-guide" }]);
    expect(await read("prompt show country-guide --tag staging")).toMatchObject({ version: "2.0.0" });
    expect((await read("prompt diff country-guide")).diff).toContain("+++ 2.0.0/text");
    expect(await read("logs --search zebra --since 1d")).toEqual([]);
    const [usage] = await read("usage --by all");
    expect(usage.logs).toBeGreaterThanOrEqual(3); // of the sample, whose month is stored in the background
    const refused = async (...args: string[]) => (await runCommand(folder, args, settings())).stderr;
    expect(await refused("backup", "x.dump")).toContain("pg_dump");
    expect(await refused("restore", "x.dump")).toContain("pg_restore");
  });

  test("an import reports what is new, what changed and what was there, also where a key comes more than once", async () => {
    const write = (lines: string[]) =>
      writeFile(join(folder, "rows.csv"), ["question,key", ...lines, ""].join("\n"));
    const load = () =>
      gabbro(["import", "dataset", join(folder, "rows.csv"), "--slug", "many", "--key", "key"]);
    const rows = Array.from({ length: 1_200 }, (_, n) => `question ${n},k${n}`);
    await write([...rows, "another,k7", "once more,k7"]);
    expect(await load()).toContain("1,200 rows added, 2 changed, 0 unchanged");
    await write([...rows.slice(0, 600), "a new one,n"]);
    expect(await load()).toContain("1 rows added, 1 changed, 599 unchanged");
  });
});
