import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { gabbro } from "../support/program.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const cli = join(root, "node_modules/@mikro-orm/cli/cli.js");

test("npx mikro-orm works on the database that DATABASE_URL names, and finds it as the entities are", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  try {
    const env = { ...process.env, DATABASE_URL: `sqlite:${join(folder, "gabbro.sqlite")}`, NO_COLOR: "1" };
    const difference = async () => {
      const command = [cli, "schema:update", "--dump"];
      return (await promisify(execFile)(process.execPath, command, { cwd: root, env })).stdout;
    };
    expect(await difference()).toContain("create table `prompts`");
    await gabbro(root, ["migrate"], env);
    expect(await difference()).toContain("Schema is up-to-date");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
