import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeAll, expect, test } from "vitest";
import { logPromptRecord } from "../../src/logs/inputs.ts";
import { logPrompt } from "../../src/logs/resolvers.ts";
import { createPrompt, createPromptVersion } from "../../src/prompts/authoring.resolvers.ts";
import { promptVersionInput } from "../../src/prompts/inputs.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { openFolder } from "../support/commandLine.ts";
import { gabbro } from "../support/program.ts";

const model = { provider: "openai", model: "gpt-4o-mini", parameters: { temperature: 0.2 } };
/** Clears the screen; a tab is harmless. */
const HOSTILE = "x\u001b[2J\u009b2J\tend";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
  const context = await at.contextOf();
  const addVersion = (slug: string, version: unknown) =>
    createPromptVersion(context, { slug, input: promptVersionInput.parse(version) });
  await createPrompt(context, {
    slug: "greet",
    name: "Greeting",
    description: "Says hello.",
    featureSlug: "mail",
  });
  await addVersion("greet", { version: "1.0.0", text: "Hello {{ name }}", model });
  await addVersion("greet", { version: "1.1.0", text: "Hi {{ name }}", systemText: "Be brief.", model });
  await publishPrompt(context, { slug: "greet", newTag: "production", version: "1.0.0" });
  await createPrompt(context, { slug: "bare", name: HOSTILE });
  await addVersion("bare", { version: "1", text: HOSTILE });
  await createPrompt(context, { slug: "empty" });
  const log = (workspace: typeof context, record: unknown) =>
    logPrompt(workspace, logPromptRecord.parse(record));
  const call = {
    slug: "greet",
    inputTokens: 1_200,
    outputTokens: 3,
    cost: 0.5,
    user: { id: "u1", name: "Ann" },
  };
  await log(context, {
    ...call,
    startTime: "2026-03-01T10:00:00Z",
    endTime: "2026-03-01T10:00:01.5Z",
    input: "old",
    output: "one",
  });
  await log(context, {
    ...call,
    startTime: "2026-03-02T10:00:00Z",
    input: { a: HOSTILE },
    output: HOSTILE,
    metadata: { plan: "pro", seats: 5 },
  });
  await log(context, { ...call, slug: "bare", cost: 2, user: null, output: "zebra two", input: null });
  const other = await at.contextOf("other");
  await createPrompt(other, { slug: "theirs" });
  await log(other, { ...call, output: "theirs" });
});
afterAll(() => at.close());

/** What a command prints for programs. */
async function read(command: string) {
  const { code, stdout, stderr } = await at.gabbro(...command.split(" "), "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

/** The table that a command prints for people, by its cells. */
async function table(command: string): Promise<string[][]> {
  const { code, stdout } = await at.gabbro(...command.split(" "));
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split("\n");
  return lines.map((line) => line.trim().split(/ {2,}/));
}

test("prompts are listed in a table, each as its production version shows it, else as its newest", async () => {
  expect(await table("prompt list")).toEqual([
    ["SLUG", "NAME", "STATUS", "VERSION", "TAGS"],
    ["bare", "x\\u001b[2J\\u009b2J\\u0009end", "draft", "1", "latest"],
    ["empty", "empty", "draft", "-", "-"],
    ["greet", "Greeting", "live", "1.0.0", "latest, production"],
  ]);
});

test("for programs a list of prompts has all versions, and options narrow it down", async () => {
  const greet = {
    ...{ slug: "greet", name: "Greeting", status: "live", description: "Says hello." },
    ...{ version: "1.0.0", tag: "production" },
    ...{ availableVersions: ["1.0.0", "1.1.0"], availableTags: ["latest", "production"] },
  };
  expect(await read("prompt list --feature mail")).toEqual([greet]);
  expect(await read("prompt list --search HELLO")).toEqual([greet]);
  expect(await read("prompt list --workspace other")).toMatchObject([{ slug: "theirs" }]);
  expect(await read("prompt list --search nothing")).toEqual([]);
});

test("a limit cuts a list and says that there is more", async () => {
  const { stdout, stderr } = await at.gabbro("prompt", "list", "--limit", "2");
  expect(stdout.split("\n")).toHaveLength(4);
  expect(stderr).toBe("There are more than 2. See them with --limit.\n");
  expect((await at.gabbro("prompt", "list", "--limit", "3")).stderr).toBe("");
  expect((await at.gabbro("logs", "--limit", "2", "--json")).stderr).toContain("more than 2");
});

test("a list goes on over as many pages as its limit needs", async () => {
  const { database } = await at.contextOf();
  const workspace = await createWorkspace(database, "many");
  const slugs = Array.from({ length: 201 }, (_, n) => `p${String(n).padStart(3, "0")}`);
  const head = { workspace, description: null, featureSlug: null, protectedTags: [], createdAt: new Date() };
  await database.commit(slugs.map((slug) => ["Prompt", { ...head, id: uuidv7(), slug, name: slug }]));
  const listed: { slug: string }[] = await read("prompt list --workspace many --limit 300");
  expect(listed.map(({ slug }) => slug)).toEqual(slugs);
  const cut = await at.gabbro("prompt", "list", "--workspace", "many", "--limit", "200", "--json");
  expect(JSON.parse(cut.stdout)).toHaveLength(200);
  expect(cut.stderr).toBe("There are more than 200. See them with --limit.\n");
});

test("a prompt is shown with its versions, its tags and the texts of one version", async () => {
  const { stdout } = await at.gabbro("prompt", "show", "greet", "--tag", "latest");
  expect(stdout.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, "<time>")).toBe(`greet (live)
Greeting
Says hello.

Version    1.1.0 (latest)
Made       <time>
Model      openai gpt-4o-mini, temperature 0.2
Tags       production 1.0.0
Versions   1.0.0, 1.1.0
Variables  name (string)

System text:
Be brief.

Text:
Hi {{ name }}
`);
});

test("for programs a prompt is one object, whose texts are exact", async () => {
  expect(await read("prompt show greet --version 1.0.0")).toMatchObject({
    ...{ slug: "greet", version: "1.0.0", tag: null, text: "Hello {{ name }}", systemText: null },
    ...{ availableVersions: ["1.0.0", "1.1.0"], tags: [{ label: "production", version: "1.0.0" }] },
    ...{ model: { ...model, client: null, version: null }, createdAt: expect.any(String) },
    variables: [{ label: "name", type: "string", description: null }],
  });
  const bare = await at.gabbro("prompt", "show", "bare", "--json");
  expect(JSON.parse(bare.stdout).text).toBe(HOSTILE);
  expect(bare.stderr).toContain("has no production version");
  const empty = await at.gabbro("prompt", "show", "empty", "--json");
  expect(JSON.parse(empty.stdout)).toMatchObject({ version: null, text: null });
});

test("versions are compared by name or by tag; without names, production with the newest", async () => {
  const { stdout } = await at.gabbro("prompt", "diff", "greet");
  expect(stdout).toContain("--- 1.0.0/text\n+++ 1.1.0/text\n");
  expect(stdout).toContain("\n-Hello {{ name }}\n");
  expect(stdout).toContain("\n+Hi {{ name }}\n");
  const diff = await read("prompt diff greet 1.1.0 production");
  expect(diff).toMatchObject({ slug: "greet", from: "1.1.0", to: "1.0.0" });
  expect(diff.diff).toContain("\n-Hi {{ name }}\n");
  expect(await at.gabbro("prompt", "diff", "greet", "latest", "1.1.0")).toEqual({
    ...{ code: 0, stdout: "", stderr: "Nothing differs between 1.1.0 and 1.1.0.\n" },
  });
});

test("where colours are shown, what goes is red and what comes is green", async () => {
  const { stdout } = await gabbro(at.folder, ["prompt", "diff", "greet"], { FORCE_COLOR: "1" });
  expect(stdout).toContain("\u001b[31m-Hello {{ name }}\u001b[39m\n");
  expect(stdout).toContain("\u001b[32m+Hi {{ name }}\u001b[39m\n");
});

test("logs are listed in a table, the newest first, and options narrow them down", async () => {
  const listed = await table("logs --until 2026-03-03");
  expect(listed[0]).toEqual(["STARTED", "PROMPT", "VERSION", "MODEL", "IN", "OUT", "COST", "LATENCY", "ID"]);
  expect(listed.slice(1).map((cells) => cells.slice(0, -1))).toEqual([
    ["2026-03-02T10:00:00Z", "greet", "1.0.0", "gpt-4o-mini", "1,200", "3", "$0.50", "-"],
    ["2026-03-01T10:00:00Z", "greet", "1.0.0", "gpt-4o-mini", "1,200", "3", "$0.50", "1,500 ms"],
  ]);
});

test.each([
  ["--since 1h", ["zebra two"]],
  ["--since 2026-03-02 --until 2026-03-03", [HOSTILE]],
  ["--prompt greet", [HOSTILE, "one"]],
  ["--version 1.0.0 --tag production --min-latency 1000", ["one"]],
  ["--user u1", [HOSTILE, "one"]],
  ["--organization o1", []],
  ["--search zebra", ["zebra two"]],
  ["--min-cost 1", ["zebra two"]],
  ["--max-cost 1 --max-latency 1500", ["one"]],
  ["--metadata plan=pro", [HOSTILE]],
  ["--metadata plan=pro --metadata seats=5", [HOSTILE]],
  ['--metadata seats="5"', []],
  ["--limit 3", ["zebra two", HOSTILE, "one"]],
  ["--workspace other", ["theirs"]],
])("for programs logs are an array: gabbro logs %s", async (options, outputs) => {
  const logs: { output: unknown }[] = await read(`logs ${options}`);
  expect(logs.map(({ output }) => output)).toEqual(outputs);
});

test("for programs a log has the members that an export has, and one is shown by its id", async () => {
  const exported = (await at.gabbro("export", "logs", "--from", "2026-03-02", "--to", "2026-03-03")).stdout;
  const [listed] = await read("logs --since 2026-03-02 --until 2026-03-03");
  expect(listed).toEqual(JSON.parse(exported));
  expect(await read(`logs ${listed.id}`)).toEqual(listed);
  const { stdout } = await at.gabbro("logs", listed.id);
  expect(stdout).toMatch(/^Prompt +greet 1\.0\.0 \(production\)$/m);
  expect(stdout).toMatch(/^Cost +\$0\.50 \(reported\)$/m);
  expect(stdout).toMatch(/^User +Ann \(u1\)$/m);
  expect(stdout).toContain("\nOutput:\nx\\u001b[2J\\u009b2J\tend\n");
});

test("usage is summed up by group in a table that ends with the total", async () => {
  expect(await table("usage --since 2026-03-01 --until 2026-03-03")).toEqual([
    ["DAY", "LOGS", "INPUT TOKENS", "OUTPUT TOKENS", "COST", "UNPRICED", "P50", "P95", "P99"],
    ["2026-03-01", "1", "1,200", "3", "$0.50", "0", "1,500 ms", "1,500 ms", "1,500 ms"],
    ["2026-03-02", "1", "1,200", "3", "$0.50", "0", "-", "-", "-"],
    ["TOTAL", "2", "2,400", "6", "$1.00", "0", "1,500 ms", "1,500 ms", "1,500 ms"],
  ]);
  const byVersion = await table("usage --since 2026-03-01 --by version");
  expect(byVersion.map((cells) => cells.slice(0, 3))).toEqual([
    ["PROMPT", "VERSION", "LOGS"],
    ["greet", "1.0.0", "2"],
    ["bare", "-", "1"],
    ["TOTAL", "TOTAL", "3"],
  ]);
});

test.each([
  ["--by prompt --limit 1", [{ key: "greet", promptSlug: "greet", logs: 2, cost: 1 }]],
  [
    "--by user",
    [
      { key: "u1", logs: 2 },
      { key: null, logs: 1 },
    ],
  ],
  [
    "--by model",
    [
      { key: "gpt-4o-mini", logs: 2 },
      { key: null, logs: 1 },
    ],
  ],
  ["--by organization", [{ key: null, logs: 3 }]],
  ["--by all --prompt bare", [{ key: null, logs: 1, cost: 2, totalTokens: 1_203 }]],
  [
    "--by day --until 2026-03-02T05:00 --time-zone Asia/Tokyo",
    [
      { key: "2026-03-01", logs: 1 },
      { key: "2026-03-02", logs: 0 },
    ],
  ],
])("for programs usage is an array without a total: gabbro usage %s", async (options, groups) => {
  expect(await read(`usage --since 2026-03-01 ${options}`)).toMatchObject(groups);
});

test("usage without options is that of the last seven days", async () => {
  const days: { logs: number }[] = await read("usage");
  expect(days.length).toBeGreaterThanOrEqual(7);
  expect(days.reduce((sum, { logs }) => sum + logs, 0)).toBe(1);
});

test.each([
  [1, "prompt show nope", 'Prompt "nope" does not exist.'],
  [1, "prompt show theirs", 'Prompt "theirs" does not exist.'],
  [1, "prompt diff greet 1.0.0 9", 'has no version "9"'],
  [1, "prompt diff bare", 'has no version "production"'],
  [1, "logs 00000000-0000-7000-8000-000000000000", "does not exist"],
  [2, "logs first", "It must be the id of a log"],
  [2, "logs --limit 0", "It must be a number from 1 to 10,000."],
  [2, "logs --limit 1e3", "It must be a number from 1 to 10,000."],
  [2, "logs --metadata plan", "It must be a key and a value with = between"],
  [2, "logs --min-cost much", "It must be a number."],
  [2, "logs --since yesterday", "It must be an age such as 90m, 12h, 7d or 4w, or a time"],
  [2, "logs --search !!", "--search must have a letter or a digit in it."],
  [2, "logs --since 2026-02-01 --until 2026-01-01", "--until must not be before"],
  [2, `prompt list --search ${"x".repeat(201)}`, "--search must have at most 200 characters."],
  [2, "usage --time-zone Moon/Crater", "--time-zone must be a time zone"],
  [2, "usage --by weather", "Allowed choices are day, prompt,"],
  [2, "usage --limit 1001", "It must be a number from 1 to 1,000."],
])("what cannot be read is named and ends with %i: gabbro %s", async (code, command, reason) => {
  const ended = await at.gabbro(...command.split(" "));
  expect(ended).toMatchObject({ code, stdout: "" });
  expect(ended.stderr).toContain(reason);
});

test("nothing that callers stored makes a terminal do anything", async () => {
  for (const command of ["prompt list", "prompt show bare", "prompt show bare --json", "logs --json"]) {
    const { stdout, stderr } = await at.gabbro(...command.split(" "));
    expect(stdout).toContain("\\u001b[2J");
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n\t]/u);
  }
});
