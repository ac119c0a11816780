import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { allRows, fixture, importing } from "../support/imports.ts";
import { send } from "../support/otlp.ts";

const at = importing("otlp");

const recorded = fixture("otlp/traces.jsonl");
const linesOf = async () => (await readFile(recorded, "utf8")).trim().split("\n");

const withoutArrival = async () => {
  const { logs = [], traces = [] } = await allRows(at.server);
  const cut = (rows: unknown[]) =>
    rows.map((row) => ({ ...(row as object), created_at: null, search_id: null }));
  return { logs: cut(logs), traces: cut(traces) };
};

test("a file stores what its requests store over HTTP", async () => {
  expect(await at.importFrom(recorded)).toMatchObject({
    counts: { spans: { added: 6, changed: 0, unchanged: 0 } },
    refusals: [],
  });
  const imported = await withoutArrival();
  expect(imported.logs).toHaveLength(6);
  for (const line of await linesOf())
    expect(await send(at.server, Buffer.from(line), { type: "application/json" })).toMatchObject({
      status: 200,
    });
  expect(await withoutArrival()).toEqual(imported);
});

test("spans that came over the network before are found unchanged", async () => {
  for (const line of await linesOf()) await send(at.server, Buffer.from(line), { type: "application/json" });
  const { counts } = await at.importFrom(recorded);
  expect(counts.spans).toEqual({ added: 0, changed: 0, unchanged: 6 });
});

test("a span that a later file has with more is replaced", async () => {
  await at.importFrom(recorded);
  const [first = ""] = await linesOf();
  const path = join(at.folder, "later.jsonl");
  await writeFile(
    path,
    first.replace('"attributes":[', '"attributes":[{"key":"late","value":{"intValue":1}},'),
  );
  expect((await at.importFrom(path)).counts.spans).toEqual({
    added: 0,
    changed: 1,
    unchanged: 0,
  });
  expect((await allRows(at.server)).logs).toHaveLength(6);
});

test.each([
  [
    "called .json, as the Collector's examples do",
    async () => copyFile(recorded, join(at.folder, "traces.json")),
  ],
  [
    "rotated, with a time in its name",
    async () => copyFile(recorded, join(at.folder, "traces-2026-11-25T00-00.000.json")),
  ],
  ["packed", async () => writeFile(join(at.folder, "traces.jsonl.gz"), gzipSync(await readFile(recorded)))],
  [
    "written on many lines",
    async () => {
      for (const [n, line] of (await linesOf()).entries())
        await writeFile(join(at.folder, `${n}.json`), JSON.stringify(JSON.parse(line), null, 2));
    },
  ],
])("a file is read that is %s", async (_, make) => {
  await make();
  const { counts, refusals } = await at.importFrom(at.folder);
  expect(refusals).toEqual([]);
  expect(counts.spans.added).toBe(6);
});

test("what is no span is refused with its line or left out, and costs no other span", async () => {
  const [first = "", second = ""] = await linesOf();
  const broken = first.replace(/"spanId":"\w{16}"/, '"spanId":"0000000000000000"');
  await writeFile(
    join(at.folder, "traces.json"),
    [broken, "{oops", '{"resourceLogs":[]}', '{"resourceMetrics":[]}', "{}", "", second].join("\n"),
  );
  const { counts, refusals, leftOut } = await at.importFrom(at.folder);
  expect(counts.spans.added).toBe(1);
  expect(refusals).toEqual([
    "line 1: span 1 of the line has a span id of zeros",
    expect.stringMatching(/^line 2: .*cannot be read as OTLP JSON/),
    "line 5: has no spans",
  ]);
  expect(leftOut).toEqual({ "lines of log records": 1, "lines of metrics": 1 });
});

test.each([
  ["that is not UTF-8", "b.json.zst", Buffer.from("28b52ffd0099ff", "hex")],
  ["that is cut off", "b.json.gz", gzipSync("{}").subarray(0, 12)],
])("a file %s costs no other file", async (_, name, bytes) => {
  const [first = "", second = ""] = await linesOf();
  await writeFile(join(at.folder, "a.json"), first);
  await writeFile(join(at.folder, name), bytes);
  await writeFile(join(at.folder, "c.json"), second);
  const { counts, refusals } = await at.importFrom(at.folder);
  expect(counts.spans.added).toBe(2);
  expect(refusals).toEqual([
    expect.stringMatching(/^line 1: nothing from here on is imported: th(?:is line|e file cannot be read)/),
  ]);
});
