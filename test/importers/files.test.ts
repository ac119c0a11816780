import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { importing } from "../support/imports.ts";

const at = importing("langfuse");

const item = (id: string, input: unknown = { q: id }) => ({
  id,
  input,
  expectedOutput: null,
  datasetName: "d",
});
const text = (...values: object[]) => values.map((value) => JSON.stringify(value));

async function importText(name: string, content: string) {
  await writeFile(join(at.folder, name), content);
  const { counts, refusals } = await at.importFrom(at.folder);
  return { rows: counts.rows.added, refusals };
}

test("a line that is too long is refused, and those after it are imported", async () => {
  const long = JSON.stringify(item("long", "x".repeat(17 * 1024 * 1024)));
  expect(await importText("items.jsonl", [...text(item("a")), long, ...text(item("b"))].join("\n"))).toEqual({
    rows: 2,
    refusals: ["line 2: is longer than 16 MB"],
  });
});

test("a row that is larger than any of the service is refused with its line, and no other", async () => {
  const large = item("large", { q: "€".repeat(3_400_000) });
  const { rows, refusals } = await importText("items.jsonl", text(item("a"), large, item("b")).join("\n"));
  expect(rows).toBe(2);
  expect(refusals).toEqual([
    expect.stringMatching(/^line 2: row "large": The row would be larger than 10,000,000 bytes/),
  ]);
});

test("what precedes the damage of a JSON file is imported, and so are the other files", async () => {
  await writeFile(join(at.folder, "z.json"), JSON.stringify([item("z")]));
  const { rows, refusals } = await importText(
    "cut.json",
    `[\n${text(item("a"), item("b")).join(",\n")},\n{"id": `,
  );
  expect(rows).toBe(3);
  expect(refusals).toEqual(["line 4: nothing from here on is imported: the JSON ends too early"]);
});

test("a packed file that is cut off is refused from there on, and the other files are imported", async () => {
  const packed = gzipSync(text(item("cut")).join("\n"));
  await writeFile(join(at.folder, "b.jsonl.gz"), packed.subarray(0, 20));
  await writeFile(join(at.folder, "c.jsonl"), text(item("c")).join("\n"));
  expect(await importText("a.jsonl", text(item("a")).join("\n"))).toEqual({
    rows: 2,
    refusals: [
      "line 1: nothing from here on is imported: the file cannot be read from about this line on: unexpected end of file",
    ],
  });
});

test.each([
  ["a list", JSON.stringify([item("a"), item("b")])],
  ["an answer of an API", JSON.stringify({ data: [item("a"), item("b")], meta: { page: 1 } })],
  [
    "answers one after another",
    text(item("a"), item("b"))
      .map((each) => `${each}\n`)
      .join(""),
  ],
  ["objects on many lines", [item("a"), item("b")].map((each) => JSON.stringify(each, null, 2)).join("\n")],
])("a JSON file may be %s", async (_, content) => {
  expect(await importText("items.json", content)).toEqual({ rows: 2, refusals: [] });
});

test.each(["deep.json", "deep.jsonl"])(
  "a record of %s that is nested too deeply costs no other",
  async (name) => {
    const deep = JSON.stringify(item("deep")).replace(
      '{"q":"deep"}',
      `${"[".repeat(9_000)}${"]".repeat(9_000)}`,
    );
    expect(await importText(name, [deep, ...text(item("a"))].join("\n"))).toEqual({
      rows: 1,
      refusals: ["line 1: is nested too deeply"],
    });
  },
);

test.each([1e305, 1e17])("a span at %s ms since 1970 costs no other", async (startTime) => {
  const spans = [startTime, 1e12].map((startTime) => ({ id: "o", traceId: "t", type: "SPAN", startTime }));
  await writeFile(join(at.folder, "spans.jsonl"), text(...spans).join("\n"));
  const { counts, refusals } = await at.importFrom(at.folder);
  expect(counts.spans.added).toBe(1);
  expect(refusals).toEqual(["line 1: has no valid start time"]);
});

test.each(["own.json", "own.jsonl"])(
  "a record of %s may have a member that is called like a list of answers",
  async (name) => {
    expect(
      await importText(name, text({ ...item("a"), data: [item("x"), item("y")] }, item("b")).join("\n")),
    ).toEqual({
      rows: 2,
      refusals: [],
    });
  },
);

test("an id that JavaScript cannot hold as a number is kept digit by digit", async () => {
  await importText(
    "items.jsonl",
    '{"id":12345678901234567890,"input":{"q":1},"expectedOutput":null,"datasetName":"d"}',
  );
  const query = '{ dataset(slug: "d") { rows(first: 1) { nodes { key } } } }';
  const { body } = await at.server.request("POST", "/graphql", { query });
  expect(body.data.dataset.rows.nodes).toEqual([{ key: "12345678901234567890" }]);
});

test("a later file adds the columns that its rows have more", async () => {
  await importText("1.jsonl", text(item("a", { q: "x" })).join("\n"));
  await importText("2.jsonl", text(item("b", { q: "y", more: { n: 1 } })).join("\n"));
  const { body } = await at.server.request("GET", "/datasets/d");
  expect(body.dataset.columns).toMatchObject([
    { name: "q", type: "text" },
    { name: "more", type: "json" },
  ]);
  expect(body.dataset.rows).toMatchObject([{ values: { q: "x" } }, { values: { q: "y", more: { n: 1 } } }]);
});

test("a missing path and a folder without files are errors", async () => {
  await expect(at.importFrom(join(at.folder, "none"))).rejects.toThrow("There is no file or folder");
  await expect(at.importFrom(at.folder)).rejects.toThrow("There is no file in");
});
