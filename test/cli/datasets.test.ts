import { afterAll, beforeAll, expect, test } from "vitest";
import { createDataset, updateDataset } from "../../src/datasets/authoring.resolvers.ts";
import { datasetRowInput } from "../../src/datasets/inputs.ts";
import { addDatasetItem, deleteDatasetItem, updateDatasetItem } from "../../src/datasets/items.resolvers.ts";
import { setDatasetTagProtection } from "../../src/datasets/tags.resolvers.ts";
import { openFolder } from "../support/commandLine.ts";
import { gabbro } from "../support/program.ts";

/** Clears the screen. */
const HOSTILE = "x\u001b[2J\u009b2J";

let at: Awaited<ReturnType<typeof openFolder>>;
let rowIds: string[];
beforeAll(async () => {
  at = await openFolder();
  const context = await at.contextOf();
  const add = (slug: string, row: object) =>
    addDatasetItem(context, { slug, input: datasetRowInput.parse(row) });
  const column = (name: string) => ({ name, type: "text" as const });
  await createDataset(context, { slug: "quiz", name: "The quiz", columns: [column("q"), column("note")] });
  const rows = [
    await add("quiz", { values: { q: "one" }, idealOutput: "1" }), // version 2
    await add("quiz", { values: { q: "two" }, name: "second", key: "k" }), // 3
  ];
  rowIds = rows.map(({ datasetRow }) => datasetRow.id);
  await updateDatasetItem(context, { id: rowIds[0]!, input: { idealOutput: "eins" } }); // 4
  await deleteDatasetItem(context, { id: rowIds[1]! }); // 5
  await updateDataset(context, {
    slug: "quiz",
    input: { removeColumns: ["note"], renameColumns: [{ from: "q", to: "question" }] },
  }); // 6
  await createDataset(context, { slug: "bare", name: HOSTILE, columns: [column(HOSTILE)] });
  await add("bare", { values: { [HOSTILE]: HOSTILE } });
  await createDataset(await at.contextOf("other"), { slug: "theirs", columns: [] });
  await setDatasetTagProtection(context, { slug: "quiz", input: { tag: "release", protected: true } });
  for (const [tag, version] of [
    ["gate", "2"],
    ["release", "gate"],
    ["newest", "latest"],
  ])
    await at.gabbro("dataset", "tag", "quiz", tag!, version!);
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

test("a version is tagged by its number or by another tag, and the tag is moved the same way", async () => {
  expect(await at.gabbro("dataset", "tag", "quiz", "gate", "3")).toEqual({
    ...{ code: 0, stdout: 'The tag "gate" names version 3 of quiz.\n', stderr: "" },
  });
  expect(await read("dataset tag quiz gate 2")).toEqual({ slug: "quiz", tag: "gate", version: 2 });
  expect(await read("dataset tag quiz release gate")).toEqual({ slug: "quiz", tag: "release", version: 2 });
  expect(await read("dataset tag quiz newest latest")).toEqual({ slug: "quiz", tag: "newest", version: 6 });
});

test("datasets are listed in a table, and for programs with their columns", async () => {
  expect(await table("dataset list")).toEqual([
    ["SLUG", "NAME", "VERSION", "ROWS", "COLUMNS"],
    ["bare", "x\\u001b[2J\\u009b2J", "2", "1", "x\\u001b[2J\\u009b2J"],
    ["quiz", "The quiz", "6", "1", "question"],
  ]);
  expect(await read("dataset list --search QUIZ")).toEqual([
    {
      ...{ slug: "quiz", name: "The quiz", createdAt: expect.any(String), version: 6, rowCount: 1 },
      columns: [{ name: "question", type: "text" }],
    },
  ]);
  expect(await read("dataset list --workspace other")).toMatchObject([{ slug: "theirs" }]);
  expect(await read("dataset list --search nothing")).toEqual([]);
});

test("a dataset is shown as it is, or as it was in a version", async () => {
  const { stdout } = await at.gabbro("dataset", "show", "quiz");
  expect(stdout.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, "<time>")).toBe(`quiz
The quiz

Version    6
Made       <time>
Rows       1
Tags       gate 2, newest 6, release 2
Protected  release
Columns    question (text)
`);
  const then = { version: 3, rowCount: 2, columns: ["q", "note"].map((name) => ({ name, type: "text" })) };
  expect(await read("dataset show quiz --at 3")).toMatchObject(then);
  expect(await read("dataset show quiz --tag gate")).toMatchObject({ ...then, version: 2, rowCount: 1 });
});

test("versions are listed with their tags and with what they changed, the newest first", async () => {
  expect(await table("dataset versions quiz")).toEqual([
    ["VERSION", "TAGS", "ROWS", "ADDED", "CHANGED", "REMOVED", "COLUMNS"],
    ["6", "newest", "1", "-", "-", "-", "changed"],
    ["5", "-", "1", "-", "-", "1", "-"],
    ["4", "-", "2", "-", "1", "-", "-"],
    ["3", "-", "2", "1", "-", "-", "-"],
    ["2", "gate, release", "1", "1", "-", "-", "-"],
    ["1", "-", "0", "-", "-", "-", "-"],
  ]);
  const none = { addedRows: 0, changedRows: 0, removedRows: 0, columnsChanged: false };
  const all = await read("dataset versions quiz");
  expect(all[2]).toEqual({ ...none, version: 4, tags: [], rowCount: 2, changedRows: 1 });
  const { stdout, stderr } = await at.gabbro("dataset", "versions", "quiz", "--limit", "3", "--json");
  expect(JSON.parse(stdout)).toEqual(all.slice(0, 3));
  expect(stderr).toBe("There are more than 3. See them with --limit.\n");
});

test("two versions are compared by their numbers or tags, like lines of a diff", async () => {
  const { stdout } = await at.gabbro("dataset", "diff", "quiz", "gate");
  expect(stdout).toBe(`@@ column @@
-{"name":"q","type":"text"}
+{"name":"question","type":"text"}
@@ column @@
-{"name":"note","type":"text"}
@@ row ${rowIds[0]} @@
-{"key":null,"name":null,"values":{"q":"one"},"idealOutput":"1","metadata":null}
+{"key":null,"name":null,"values":{"question":"one"},"idealOutput":"eins","metadata":null}
`);
  const second = { key: "k", name: "second", values: { q: "two" }, idealOutput: null, metadata: null };
  expect(await read("dataset diff quiz 5 3")).toEqual({
    ...{ slug: "quiz", from: 5, to: 3, columns: [] },
    rows: [
      { id: rowIds[0], kind: "changed", before: expect.anything(), after: expect.anything() },
      { id: rowIds[1], kind: "added", before: null, after: second },
    ],
  });
  const cut = await at.gabbro("dataset", "diff", "quiz", "5", "3", "--limit", "1", "--json");
  expect(JSON.parse(cut.stdout).rows).toHaveLength(1);
  expect(cut.stderr).toBe("There are more than 1 rows. See them with --limit.\n");
  expect(await at.gabbro("dataset", "diff", "quiz", "6", "latest")).toEqual({
    ...{ code: 0, stdout: "", stderr: "Nothing differs between 6 and 6.\n" },
  });
});

test("where colours are shown, rows that go are red and rows that come are green", async () => {
  const { stdout } = await gabbro(at.folder, ["dataset", "diff", "quiz", "3", "4"], { FORCE_COLOR: "1" });
  expect(stdout).toContain("\n\u001b[31m-{");
  expect(stdout).toContain("\n\u001b[32m+{");
});

test.each([
  [1, "dataset show nope", 'Dataset "nope" does not exist.'],
  [1, "dataset show theirs", 'Dataset "theirs" does not exist.'],
  [1, "dataset show quiz --at 7", 'Dataset "quiz" has no version 7; its newest is 6.'],
  [1, "dataset show quiz --tag none", 'Dataset "quiz" has no tag "none".'],
  [1, "dataset versions nope", 'Dataset "nope" does not exist.'],
  [1, "dataset diff quiz 1 7", 'Dataset "quiz" has no version 7; its newest is 6.'],
  [1, "dataset diff quiz none", 'Dataset "quiz" has no tag "none".'],
  [1, "dataset tag quiz gate 7", 'Dataset "quiz" has no version 7; its newest is 6.'],
  [1, "dataset tag quiz latest 1", 'The tag "latest" names the newest version by itself'],
  [1, "dataset tag nope gate 1", 'Dataset "nope" does not exist.'],
  [2, "dataset show quiz --at 0", "--at must be a whole number from 1."],
  [2, "dataset versions quiz --limit 0", "It must be a number from 1 to 10,000."],
  [2, "dataset diff quiz", "missing required argument 'from'"],
  [2, `dataset tag quiz ${"x".repeat(129)} 1`, "The tag must have at most 128 characters."],
  [2, `dataset diff quiz ${"x".repeat(401)}`, "from must have at most 400 characters."],
  [2, `dataset list --search ${"x".repeat(201)}`, "--search must have at most 200 characters."],
])("what cannot be read or tagged is named and ends with %i: gabbro %s", async (code, command, reason) => {
  const ended = await at.gabbro(...command.split(" "));
  expect(ended).toMatchObject({ code, stdout: "" });
  expect(ended.stderr).toContain(reason);
});

test("nothing that callers stored in a dataset makes a terminal do anything", async () => {
  for (const command of [
    "list",
    "list --json",
    "show bare",
    "show bare --json",
    "diff bare 1",
    "diff bare 1 --json",
  ]) {
    const { stdout, stderr } = await at.gabbro("dataset", ...command.split(" "));
    expect(stdout).toContain("\\u001b[2J");
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]/u);
  }
});
