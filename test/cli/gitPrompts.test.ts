import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Context } from "../../src/context.ts";
import { logPromptRecord } from "../../src/logs/inputs.ts";
import { logPrompt } from "../../src/logs/resolvers.ts";
import { createPrompt, createPromptVersion } from "../../src/prompts/authoring.resolvers.ts";
import { promptContents } from "../../src/prompts/content.resolvers.ts";
import { PromptVersion } from "../../src/prompts/entities.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { openFolder } from "../support/commandLine.ts";
import { program } from "../support/program.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
});
afterAll(() => at.close());

let count = 0;
/** A workspace of its own with the prompt "welcome", and a folder for its files. */
async function startWorkspace() {
  const name = `git-${++count}`;
  const context = await at.contextOf();
  await createWorkspace(context.database, name);
  const own = await at.contextOf(name);
  await createPrompt(own, { slug: "welcome", name: "Welcome" });
  const input = { version: "1.0", text: "Greet {{ name }}.\nBe brief." };
  await createPromptVersion(own, { slug: "welcome", input });
  await publishPrompt(own, { slug: "welcome", newTag: "production", version: "1.0" });
  const file = at.path(`${name}/welcome.yaml`);
  return {
    context: own,
    file,
    run: (command: string, ...args: string[]) => at.gabbro(command, name, "--workspace", name, ...args),
    edit: async (change: (text: string) => string) => {
      const text = await readFile(file, "utf8");
      expect(change(text)).not.toBe(text);
      await writeFile(file, change(text));
    },
    add: (name: string, text: string) => writeFile(at.path(`git-${count}/${name}`), text),
    stored: async () => (await promptContents(own)).find(({ slug }) => slug === "welcome"),
  };
}

const newVersion = (text: string) =>
  text
    .replace('production: "1.0"', 'production: "2.0"')
    .concat('  - version: "2.0"\n    text: "Greet {{ name }} of {{ city }}."\n');

test("what a pull writes is the same as Gabbro has, and a check of it exits with 0", async () => {
  const { run, file } = await startWorkspace();
  expect(await run("pull")).toMatchObject({ code: 0, stderr: "" });
  expect(await readFile(file, "utf8")).toContain("Greet {{ name }}.");
  expect(await run("check")).toEqual({
    code: 0,
    stdout: "The files and Gabbro have the same prompts.\n",
    stderr: "",
  });
  expect(JSON.parse((await run("check", "--json")).stdout)).toEqual({ differences: [] });
});

test("a check exits with 1 and names what only the files have, only Gabbro has, and what differs", async () => {
  const { run, edit, add, context } = await startWorkspace();
  await run("pull");
  await edit((text) =>
    newVersion(text).replace("Be brief", "Be kind").replace("name: Welcome", "name: Hello"),
  );
  await add("farewell.yaml", "slug: farewell\nversions:\n  - version: '1'\n    text: Bye.\n");
  await createPrompt(context, { slug: "console", name: "Made in the console" });
  await createPromptVersion(context, { slug: "welcome", input: { version: "1.1", text: "Hi." } });
  await publishPrompt(context, { slug: "welcome", newTag: "staging", version: "1.1" });
  const { code, stdout } = await run("check");
  expect(code).toBe(1);
  expect(stdout.trimEnd().split("\n")).toEqual([
    'only in the files: prompt "farewell"',
    'differs: name of prompt "welcome"',
    'only in the files: version "2.0" of prompt "welcome"',
    'differs: tag "production" of prompt "welcome": "2.0" in the files, "1.0" in Gabbro',
    'differs: version "1.0" of prompt "welcome"',
    'only in Gabbro: version "1.1" of prompt "welcome"',
    'only in Gabbro: tag "staging" of prompt "welcome"',
    'only in Gabbro: prompt "console"',
  ]);
  const { differences } = JSON.parse((await run("check", "--json")).stdout);
  expect(differences).toHaveLength(8);
  expect(differences[0]).toEqual({ where: "only in the files", subject: 'prompt "farewell"' });
});

test.each([
  ["an error in a file", "slug: welcome\nversion: 1\n", "line 2: version is not known here"],
  [
    "a template that cannot be read",
    "slug: bad\nversions:\n  - version: '1'\n    text: '{{ a'\n",
    "not a valid template",
  ],
])("a check exits with 2 and the line for %s", async (_, text, words) => {
  const { run, add } = await startWorkspace();
  await run("pull");
  await add("another.yaml", text);
  const { code, stdout, stderr } = await run("check");
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^gabbro: The files have errors:\n/);
  expect(stderr).toContain(words);
});

test("a check exits with 2 when it cannot compare: no folder, no workspace, a wrong option", async () => {
  const { run } = await startWorkspace();
  expect(await run("check")).toMatchObject({ code: 2, stderr: expect.stringContaining("no folder") });
  await run("pull");
  expect(await at.gabbro("check", `git-${count}`, "--workspace", "none")).toMatchObject({ code: 2 });
  expect(await run("check", "--against-logs", "0")).toMatchObject({ code: 2 });
});

test("a push makes what the files have, reports what only Gabbro has and removes nothing", async () => {
  const { run, edit, context, stored } = await startWorkspace();
  await run("pull");
  await edit(newVersion);
  await createPromptVersion(context, { slug: "welcome", input: { version: "1.1", text: "Hi." } });
  expect(await run("push")).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
  expect((await stored())!.tags.get("production")).toBe("1.0");
  expect(await run("push", "--yes")).toMatchObject({
    code: 0,
    stdout: [
      'add version "2.0" to prompt "welcome"',
      'move tag "production" of prompt "welcome" from "1.0" to "2.0"',
      "Made 2 changes.",
      'only in Gabbro: version "1.1" of prompt "welcome"',
      "",
    ].join("\n"),
  });
  expect((await stored())!.versions.map(({ version }) => version)).toEqual(["1.0", "1.1", "2.0"]);
  expect((await stored())!.tags.get("production")).toBe("2.0");
  expect((await run("check")).stdout).toBe('only in Gabbro: version "1.1" of prompt "welcome"\n');
});

test("a push keeps the commit of each file in the versions that it adds, and no other than the one that it is", async () => {
  const { run, edit, context, file } = await startWorkspace();
  await run("pull");
  const git = (...args: string[]) => {
    const [name, mail] = ["user.name=Ann Ko", "user.email=ann@example.com"];
    const cwd = dirname(file);
    return execFileSync("git", ["-c", name, "-c", mail, ...args], { cwd, encoding: "utf8" }).trim();
  };
  const commit = (message: string) => git("commit", "--quiet", "--all", "--message", message);
  const addVersion = (version: string) => edit((text) => `${text}  - version: "${version}"\n    text: Hi.\n`);
  git("init", "--quiet");
  git("add", ".");
  await addVersion("2.0");
  commit("Greet shorter\n\nIt is read aloud.");
  await run("push", "--yes");
  await addVersion("2.1");
  await run("push", "--yes");
  git("commit", "--quiet", "--allow-empty", "--message", "Something else");
  const versions = await context.em.fork().find(PromptVersion, {}, { orderBy: { id: "asc" } });
  const source = { commit: git("rev-parse", "HEAD~1"), author: "Ann Ko", message: "Greet shorter" };
  expect(versions.map(({ version, source }) => [version, source])).toEqual([
    ["1.0", null],
    ["2.0", source],
    ["2.1", null], // the file has changes that no commit has
  ]);
});

test("a push refuses another text for a version that is stored", async () => {
  const { run, edit } = await startWorkspace();
  await run("pull");
  await edit((text) => text.replace("Be brief", "Be kind"));
  expect(await run("push", "--yes")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('version "1.0" of prompt "welcome" exists with other content'),
  });
});

test("a pull overwrites what only the files have only with --yes", async () => {
  const { run, edit, file } = await startWorkspace();
  await run("pull");
  await edit(newVersion);
  const edited = await readFile(file, "utf8");
  expect(await run("pull")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('would be lost: version "2.0" of prompt "welcome"'),
  });
  expect(await readFile(file, "utf8")).toBe(edited);
  expect(await run("pull", "--yes")).toMatchObject({ code: 0 });
  expect(await readFile(file, "utf8")).not.toContain("2.0");
});

test("a pull overwrites a file that has another prompt than its name says only with --yes", async () => {
  const { run, add, file } = await startWorkspace();
  await run("pull");
  const other = "slug: other\nversions:\n  - version: '1'\n    text: Hi.\n";
  await add("welcome.yaml", other);
  expect(await run("pull")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'would be lost: prompt "other"\nwould be lost: version "1" of prompt "other"',
    ),
  });
  expect(await readFile(file, "utf8")).toBe(other);
  expect(await run("pull", "--yes")).toMatchObject({ code: 0 });
  expect(await readFile(file, "utf8")).toContain("slug: welcome");
});

test("a pull writes the file of a prompt under the name that it has, SLUG.yml too", async () => {
  const { run, edit, file } = await startWorkspace();
  await run("pull");
  const short = file.replace(".yaml", ".yml");
  await edit(newVersion);
  await rename(file, short);
  expect((await run("pull")).stderr).toContain('would be lost: version "2.0" of prompt "welcome"');
  expect(await run("pull", "--yes")).toMatchObject({ code: 0, stderr: "" });
  expect(await readFile(short, "utf8")).not.toContain("2.0");
  expect(await run("check")).toMatchObject({ code: 0 });
});

test("a diff shows the changed lines of a version that differs, and of a new one from the newest stored", async () => {
  const { run, edit } = await startWorkspace();
  await run("pull");
  await edit((text) => newVersion(text).replace("Be brief", "Be kind"));
  const { code, stdout } = await run("diff");
  expect(code).toBe(0);
  expect(stdout).toContain("-Be brief.\n");
  expect(stdout).toContain("+Be kind.\n");
  expect(stdout).toContain("+Greet {{ name }} of {{ city }}.\n");
  expect(stdout).toMatch(/^--- Gabbro\/welcome\/1\.0\/text$/m);
  expect(stdout).toMatch(/^\+\+\+ .*welcome\.yaml\/2\.0\/text$/m);

  const { differences, diffs } = JSON.parse((await run("diff", "--json")).stdout);
  expect(differences).toContainEqual({ where: "differs", subject: 'version "1.0" of prompt "welcome"' });
  expect(diffs).toEqual([expect.stringContaining("+Be kind.\n")]);
});

function log(context: Context, version: string, values?: Record<string, string>) {
  const variables = values && Object.entries(values).map(([label, value]) => ({ label, value }));
  const record = { slug: "welcome", version, output: "Hello.", variables };
  return logPrompt(context, logPromptRecord.parse(record));
}

test("a check against logs counts the renderings that change and the variables that are empty", async () => {
  const { run, edit, context } = await startWorkspace();
  await run("pull");
  await log(context, "1.0", { name: "Ann", city: "Oslo" });
  await log(context, "1.0", { name: "Ben" });
  await log(context, "1.0", { name: "", city: "Rome" });
  await log(context, "1.0");
  expect((await run("check", "--against-logs", "10")).code).toBe(0);
  await edit(newVersion);
  const { code, stdout } = await run("check", "--against-logs", "10", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout).againstLogs).toEqual([
    {
      slug: "welcome",
      version: "2.0",
      ...{ logs: 3, withoutVariables: 1, changed: 3, failed: 0, firstFailed: null },
      empty: { city: 1, name: 1 },
    },
  ]);
  const lines = (await run("check", "--against-logs", "10")).stdout.split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'prompt "welcome", version "2.0": of the renderings of 3 logs, 3 change; 1 more have no variables',
      '  variable "city" is empty in 1',
    ]),
  );
});

test("a check against logs reads only the last ones, and finds renderings that stay the same or fail", async () => {
  const { run, edit, context } = await startWorkspace();
  await run("pull");
  await log(context, "1.0", { name: "first" });
  const { log: failing } = await log(context, "1.0", { name: "fail" });
  await log(context, "1.0", { name: "Ann" });
  const text = "{% if name == 'fail' %}{{ name() }}{% endif %}Greet {{ name }}.\\nBe brief.";
  await edit((file) => file.concat(`  - version: "2.0"\n    text: "${text}"\n`));
  const { stdout } = await run("check", "--against-logs", "2", "--json");
  expect(JSON.parse(stdout).againstLogs).toEqual([
    expect.objectContaining({ logs: 2, changed: 0, failed: 1, firstFailed: failing!.id, empty: {} }),
  ]);
});

describe("the workflow of docs/prompts.md", { timeout: 120_000 }, async () => {
  const page = await readFile(new URL("../../docs/prompts.md", import.meta.url), "utf8");
  const { jobs, env } = parse(/^```yaml\n(.*?)^```$/ms.exec(page)![1]!) as {
    jobs: Record<string, { steps: { run?: string }[] }>;
    env: Record<string, string>;
  };

  /** Runs the steps of a job in the folder of a workspace, up to the first that fails, with this program for npx. */
  async function runJob(job: string, workspace: string): Promise<number> {
    const bin = at.path("bin");
    await mkdir(bin, { recursive: true });
    const script = `#!/bin/sh\nshift 2\nexec "${process.execPath}" "${program}" "$@" --workspace ${workspace}\n`;
    await writeFile(join(bin, "npx"), script, { mode: 0o755 });
    await rm(at.path("prompts"), { force: true });
    await symlink(at.path(workspace), at.path("prompts"));
    for (const { run } of jobs[job]!.steps) {
      if (run === undefined) continue;
      expect(run).toMatch(/^npx --yes gabbro@\d+\.\d+\.\d+ /);
      const variables = { ...env, DATABASE_URL: "", PATH: `${bin}:${process.env.PATH}` };
      const { status } = spawnSync("sh", ["-e", "-c", run], { cwd: at.folder, env: variables });
      if (status !== 0) return status!;
    }
    return 0;
  }

  test("passes a pull request with changes, and fails one with an error", async () => {
    const { run, edit, add, stored } = await startWorkspace();
    await run("pull");
    await edit(newVersion);
    expect(await runJob("review", `git-${count}`)).toBe(0);
    expect((await stored())!.versions).toHaveLength(1);
    await add("broken.yaml", "slug: [\n");
    expect(await runJob("review", `git-${count}`)).not.toBe(0);
  });

  test("pushes what is merged, and fails when Gabbro has something else", async () => {
    const { run, edit, stored, context } = await startWorkspace();
    await run("pull");
    await edit(newVersion);
    expect(await runJob("release", `git-${count}`)).toBe(0);
    expect((await stored())!.tags.get("production")).toBe("2.0");
    await createPromptVersion(context, { slug: "welcome", input: { version: "9", text: "By hand." } });
    expect(await runJob("release", `git-${count}`)).toBe(1);
  });
});
