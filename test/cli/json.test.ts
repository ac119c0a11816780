import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPrompt } from "../../src/prompts/authoring.resolvers.ts";
import { openFolder, runCommand } from "../support/commandLine.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
});
afterAll(() => at.close());

/** What a command prints with --json, which must be all that it prints. */
async function print(...command: string[]) {
  const { stdout, stderr } = await at.gabbro(...command, "--json");
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

test("a database is migrated, and what was done is printed as JSON", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const migrate = async () => JSON.parse((await runCommand(folder, ["migrate", "--json"])).stdout);
  expect(await migrate()).toEqual({
    applied: expect.arrayContaining([expect.stringMatching(/^Migration\d+_initial$/)]),
    backup: null,
    workspace: "default",
  });
  expect(await migrate()).toEqual({ applied: [], backup: null, workspace: null });
  await rm(folder, { recursive: true });
});

test("workspaces are made and listed as JSON", async () => {
  const { id, name } = await print("workspace", "create", "team b");
  expect(name).toBe("team b");
  const listed = await print("workspace", "list");
  expect(listed).toEqual(["default", "other", "team b"].map((name) => expect.objectContaining({ name })));
  expect(listed[2]).toEqual({ id, name, createdAt: expect.any(String) });
});

test("what an import of rows did is printed as JSON, and its exit code says whether rows were rejected", async () => {
  await writeFile(at.path("rows.jsonl"), '{"q":"one"}\nnot JSON\n{"q":"two"}\n');
  const command = ["import", "dataset", "rows.jsonl", "--slug", "quiz", "--json"];
  const counts = { slug: "quiz", isNew: true, added: 2, changed: 0, unchanged: 0, rejected: 1 };
  const dry = await at.gabbro(...command, "--dry-run");
  expect(JSON.parse(dry.stdout)).toEqual({ ...counts, dryRun: true, rejectedFile: null });
  const { code, stdout } = await at.gabbro(...command);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({ ...counts, dryRun: false, rejectedFile: "rows.jsonl.rejected" });
});

test("what an import and an export of prompts did is printed as JSON, without a question", async () => {
  await mkdir(at.path("prompts"));
  await writeFile(at.path("prompts/greet.yaml"), "slug: greet\nversions:\n  - { version: '1', text: Hi }\n");
  const asked = await at.gabbro("import", "prompts", "prompts", "--json");
  expect(asked).toMatchObject({ code: 2, stdout: "" });
  const dry = await print("import", "prompts", "prompts", "--dry-run");
  expect(dry).toEqual({ dryRun: true, changes: expect.arrayContaining([expect.stringContaining("greet")]) });
  expect(await print("import", "prompts", "prompts", "--yes")).toEqual({ ...dry, dryRun: false });
  expect(await print("import", "prompts", "prompts", "--yes")).toEqual({ dryRun: false, changes: [] });

  await createPrompt(await at.contextOf("other"), { slug: "theirs" });
  const exported = { folder: "out", prompts: 1, written: ["out/theirs.yaml"], unchanged: 0 };
  expect(await print("export", "prompts", "out", "--workspace", "other")).toEqual(exported);
  const again = { ...exported, written: [], unchanged: 1 };
  expect(await print("export", "prompts", "out", "--workspace", "other")).toEqual(again);
});

test("what mapping again would change and what it changed is counted as JSON", async () => {
  const times = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-02-01T00:00:00Z"];
  const figures = { examined: 0, changed: 0, fields: {} };
  const period = { from: "2026-01-01T00:00:00.000Z", to: "2026-02-01T00:00:00.000Z" };
  expect(await print("remap", ...times, "--dry-run")).toEqual({ ...period, ...figures, dryRun: true });
  expect(await print("remap", ...times)).toEqual({ ...period, ...figures, dryRun: false });
});

test("what is pruned and copied is counted as JSON", async () => {
  const pruned = { before: expect.any(String), traces: 0 };
  expect(await print("prune", "--older-than", "1d", "--dry-run")).toEqual({ ...pruned, dryRun: true });
  expect(await print("prune", "--older-than", "1d")).toEqual({ ...pruned, dryRun: false });
  const copied = await print("copy", "--from", "sqlite:data/gabbro.sqlite", "--to", "sqlite:copy.sqlite");
  expect(copied).toContainEqual({ table: "access_tokens", rows: 1 });
});
