import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ProductName } from "../../src/importers/importers.ts";
import { allRows, fixture, importInto } from "../support/imports.ts";
import { type Server, startServer } from "../support/server.ts";

let server: Server;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server[Symbol.asyncDispose]());

const exports: [ProductName, string][] = [
  ["langfuse", "langfuse"],
  ["otlp", "otlp"],
  ["phoenix", "phoenix/phoenix.db"],
  ["braintrust", "braintrust"],
  ["langsmith", "langsmith"],
  ["promptlayer", "promptlayer"],
  ["basalt", "basalt"],
];

test.each(exports)(
  "a dry run of %s reports the same as the import, and stores nothing",
  async (product, path) => {
    const before = await allRows(server);
    const dry = await importInto(server, product, fixture(path), { run: "dry" });
    expect(await allRows(server)).toEqual(before);
    expect(await importInto(server, product, fixture(path))).toEqual(dry);
  },
);

test.each(exports)("an import of %s that is repeated finds all of it unchanged", async (product, path) => {
  const first = await importInto(server, product, fixture(path));
  const stored = await allRows(server);
  const added = Object.values(first.counts).reduce((sum, counts) => sum + counts.added, 0);
  expect(added).toBeGreaterThan(0);
  const again = await importInto(server, product, fixture(path));
  const moved = Object.entries(first.counts).map(([kind, { added, unchanged }]) => [
    kind,
    { added: 0, changed: 0, unchanged: added + unchanged },
  ]);
  expect(again).toEqual({ ...first, counts: Object.fromEntries(moved) });
  expect(await allRows(server)).toEqual(stored);
  expect(await importInto(server, product, fixture(path), { run: "dry" })).toEqual(again);
});

const running: [ProductName, object, object][] = [
  [
    "braintrust",
    { span_id: "a", root_span_id: "a", span_attributes: {}, scores: { right: 1 }, metrics: { start: 1e9 } },
    { metrics: { start: 1e9, end: 1e9 + 5 } },
  ],
  [
    "langsmith",
    { id: "a", run_type: "chain", start_time: "2026-10-01T10:00:00Z", feedback_stats: { right: { n: 1 } } },
    { end_time: "2026-10-01T10:00:05Z" },
  ],
];

test.each(running)(
  "a judgement of a step of %s that ended since is stored once",
  async (product, begun, more) => {
    const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
    const path = join(folder, "spans.jsonl");
    await writeFile(path, JSON.stringify(begun));
    expect((await importInto(server, product, path)).counts.spans.added).toBe(2);
    await writeFile(path, JSON.stringify({ ...begun, ...more }));
    expect((await importInto(server, product, path)).counts.spans).toEqual({
      added: 0,
      changed: 1,
      unchanged: 1,
    });
    await rm(folder, { recursive: true });
  },
);
