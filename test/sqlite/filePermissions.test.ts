import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDataset } from "../../src/datasets/authoring.resolvers.ts";
import { createPrompt } from "../../src/prompts/authoring.resolvers.ts";
import { openFolder } from "../support/commandLine.ts";
import { gabbro, program } from "../support/program.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeAll(async () => {
  at = await openFolder();
  const context = await at.contextOf();
  await createDataset(context, { slug: "quiz", columns: [{ name: "q", type: "text" }] });
  await createPrompt(context, { slug: "guide" });
});
afterAll(() => at.close());

/** Nothing but what the program asks for itself restricts what it makes. */
const open = { NODE_OPTIONS: "--import=data:text/javascript,process.umask(0)" };
async function run(...args: string[]) {
  const before = process.umask(0);
  try {
    return await at.gabbro(...args);
  } finally {
    process.umask(before);
  }
}
const give = (name: string, text: string) => writeFile(at.path(name), text);
const modeOf = async (name: string) => ((await lstat(at.path(name))).mode & 0o777).toString(8);

/** Runs the service on a database in a folder, and gives all that it said until it was stopped. */
async function serve(folder: string, look: () => Promise<void>): Promise<string> {
  const child = spawn(process.execPath, [program], {
    cwd: at.folder,
    env: { PATH: process.env.PATH, PORT: "0", DATABASE_URL: `sqlite:${folder}/gabbro.sqlite`, ...open },
  });
  const closed = once(child, "close");
  let output = "";
  child.stdout.on("data", (piece) => {
    output += piece;
  });
  await expect.poll(() => output, { timeout: 20_000 }).toContain("Gabbro is ready");
  try {
    await look();
  } finally {
    child.kill("SIGINT");
    await closed;
  }
  return output;
}

test("only its user may read a new database, what SQLite puts beside it, and their folder", async () => {
  await serve("new/data", async () => {
    for (const folder of ["new", "new/data"]) expect(await modeOf(folder)).toBe("700");
    for (const end of ["", "-wal", "-shm"]) expect(await modeOf(`new/data/gabbro.sqlite${end}`)).toBe("600");
  });
});

test.each<[string, string[], string, string?]>([
  ["a backup", ["backup", "backups/b"], "backups/b", "backups"],
  [
    "a copy",
    ["copy", "--from", "sqlite:data/gabbro.sqlite", "--to", "sqlite:copies/c"],
    "copies/c",
    "copies",
  ],
  ["a dataset", ["export", "dataset", "quiz", "--output", "quiz.csv"], "quiz.csv"],
  ["logs", ["export", "logs", "--output", "logs.jsonl"], "logs.jsonl"],
  ["prompts", ["export", "prompts", "prompts"], "prompts/guide.yaml", "prompts"],
])("only its user may read what a command makes: %s", async (_, command, file, folder) => {
  expect(await run(...command)).toMatchObject({ code: 0 });
  expect(await modeOf(file)).toBe("600");
  if (folder) expect(await modeOf(folder)).toBe("700");
});

test("only its user may read a database restored from a backup that all could read", async () => {
  expect(await run("backup", "public")).toMatchObject({ code: 0 });
  await chmod(at.path("public"), 0o644);
  const restored = await gabbro(at.folder, ["restore", "public"], {
    ...open,
    DATABASE_URL: "sqlite:again/db",
  });
  expect(restored).toMatchObject({ code: 0 });
  expect([await modeOf("again"), await modeOf("again/db")]).toEqual(["700", "600"]);
});

test("rejected rows are written to a new private file, and those of an earlier import stay", async () => {
  await give("bad.jsonl", "1\n");
  await give("bad.jsonl.rejected", "mended\n");
  await symlink(at.path("elsewhere"), at.path("bad.jsonl.rejected-2"));
  const { stderr } = await run("import", "dataset", "bad.jsonl", "--slug", "quiz");
  expect(stderr).toContain("The rejected rows are in bad.jsonl.rejected-3;");
  expect(await readFile(at.path("bad.jsonl.rejected"), "utf8")).toBe("mended\n");
  expect(await readFile(at.path("bad.jsonl.rejected-3"), "utf8")).toBe("1\n");
  expect(await modeOf("bad.jsonl.rejected-3")).toBe("600");
  expect(await lstat(at.path("elsewhere")).catch(() => null)).toBeNull();
  await give("bad.jsonl.rejected-3", '{"q":"mended"}\n');
  expect(await run("import", "dataset", "bad.jsonl.rejected-3", "--slug", "quiz")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("1 rows added"),
  });
});

test("an import that finds a thousand files of rejected rows adds no other one, and says what to do", async () => {
  await give("full.jsonl", "1\n");
  await give("full.jsonl.rejected", "");
  await Promise.all(Array.from({ length: 999 }, (_, n) => give(`full.jsonl.rejected-${n + 2}`, "")));
  expect(await run("import", "dataset", "full.jsonl", "--slug", "quiz")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      "There are 1000 files of rejected rows at full.jsonl.rejected. Import or remove them.",
    ),
  });
  expect(await lstat(at.path("full.jsonl.rejected-1001")).catch(() => null)).toBeNull();
});

test.each([
  ["a dataset", ["export", "dataset", "quiz", "--format", "csv", "--output", "link/guide.yaml"]],
  ["prompts", ["export", "prompts", "link"]],
])("an export refuses to write to a symbolic link: %s", async (_, command) => {
  await mkdir(at.path("link"), { recursive: true });
  await give("victim", "as it was");
  await symlink(at.path("victim"), at.path("link/guide.yaml")).catch(() => {});
  expect(await run(...command)).toMatchObject({
    code: 1,
    stderr: "gabbro: link/guide.yaml is a symbolic link. Name a file, or a new one.\n",
  });
  expect(await readFile(at.path("victim"), "utf8")).toBe("as it was");
});

test.each([
  ["an export", ["export", "dataset", "quiz", "--output", "made.csv"], "made.csv"],
  ["a backup", ["backup", "made"], "made"],
])(
  "a file is written beside its name, and a link put there is not followed: %s",
  async (_, command, made) => {
    await give("victim", "as it was");
    await symlink(at.path("victim"), at.path(`${made}.partial`));
    expect(await run(...command)).toMatchObject({ code: 0 });
    expect(await readFile(at.path("victim"), "utf8")).toBe("as it was");
    expect((await lstat(at.path(made))).isFile()).toBe(true);
  },
);

test("an export in place of a file gives the permissions of that file", async () => {
  await give("shared.csv", "");
  await chmod(at.path("shared.csv"), 0o640);
  expect(await run("export", "dataset", "quiz", "--output", "shared.csv")).toMatchObject({ code: 0 });
  expect(await modeOf("shared.csv")).toBe("640");
});

const WARNING = "every user of this machine can read the database";

test.each([
  ["warns of a database that everybody may read", 0o755, 0o644, true],
  ["is silent about one that its group may read", 0o755, 0o640, false],
  ["is silent about one in a folder that nobody else may open", 0o750, 0o644, false],
])("the service %s, and changes no permissions", async (_, folderMode, fileMode, isWarned) => {
  const folder = `mode-${folderMode}-${fileMode}`;
  const env = { ...open, DATABASE_URL: `sqlite:${folder}/gabbro.sqlite` };
  expect(await gabbro(at.folder, ["migrate"], env)).toMatchObject({ code: 0 });
  await chmod(at.folder, 0o755); // the folders that lead to it are open, as those of a home may be
  await chmod(at.path(folder), folderMode);
  await chmod(at.path(`${folder}/gabbro.sqlite`), fileMode);
  const output = await serve(folder, async () => {
    expect(await modeOf(`${folder}/gabbro.sqlite`)).toBe(fileMode.toString(8));
  });
  expect(output.includes(WARNING)).toBe(isWarned);
});
