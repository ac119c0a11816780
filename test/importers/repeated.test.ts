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
    const dry = await importInto(server, product, fixture(path), "dry");
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
  expect(await importInto(server, product, fixture(path), "dry")).toEqual(again);
});
