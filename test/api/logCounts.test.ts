import { afterAll, expect, test } from "vitest";
import { addWorkspace } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");

const COUNTS = `query($from: DateTime!, $to: DateTime!, $by: LogGroup!, $filter: LogCondition, $first: Int, $after: String) {
  logCounts(from: $from, to: $to, groupBy: $by, filter: $filter, first: $first, after: $after) {
    nodes { key logs } pageInfo { endCursor hasNextPage } } }`;
const LISTED = "query($filter: LogFilter) { logs(filter: $filter, first: 100) { nodes { id } } }";
const january = { from: "2026-01-01", to: "2026-02-01" };

await addLogs(server, 1, () => ({ startTime: new Date("2025-12-31T23:59:59.999Z"), promptSlug: "before" }));
await addLogs(server, 60, (at) => ({
  startTime: new Date(Date.UTC(2026, 0, 1) + at * 3_600_000),
  type: at % 4 ? "generation" : "tool",
  promptSlug: at < 40 ? "often" : "seldom",
  version: at < 20 ? "1" : "2",
  model: at % 3 ? "gpt-4o" : null,
  userId: at < 5 ? "x".repeat(3_000) : null,
  status: at % 10 ? "ok" : "error",
  cost: at / 100,
  costSource: at % 4 ? "REPORTED" : "NONE", // the usage of a step that is no call does not count
}));
await addLogs(server, 3, () => ({
  startTime: new Date("2026-01-02"),
  type: "internal",
  promptSlug: "often",
}));

const read = async (variables: object, token = server.token) =>
  (await server.graphql(COUNTS, { ...january, ...variables }, { token })).body;
const groups = async (variables: object) =>
  (await read(variables)).data.logCounts.nodes.map(({ key, logs }: { key: string; logs: number }) => [
    key,
    logs,
  ]);

test("logs are counted by each group, those whose usage does not count included, but for calls to Gabbro", async () => {
  const long = "x".repeat(3_000);
  const expected = {
    PROMPT: [
      ["often", 40],
      ["seldom", 20],
    ],
    VERSION: [
      ["2", 40],
      ["1", 20],
    ],
    MODEL: [
      ["gpt-4o", 40],
      [null, 20],
    ],
    USER: [
      [null, 55],
      [long, 5],
    ],
    ORGANIZATION: [[null, 60]],
    STATUS: [
      ["ok", 54],
      ["error", 6],
    ],
  };
  for (const [by, counts] of Object.entries(expected))
    expect([by, await groups({ by })]).toEqual([by, counts]);
});

test.each([
  { slug: ["often"], status: ["ERROR"] },
  { version: ["2"], minCost: 0.3 },
  { type: ["TOOL"], not: { model: ["gpt-4o"] } },
  { from: "2026-01-02", to: "2026-01-02T12:00:00Z" },
  { userId: ["nobody"] },
  { type: ["INTERNAL"] },
  { or: [{ type: ["INTERNAL"] }, { version: ["2"] }] },
  { or: [{ slug: ["often"] }, { type: ["TOOL"] }] },
])("as many are counted as the list shows with the filter %j", async (filter) => {
  const counted = await groups({ by: "PROMPT", filter });
  const listed = await server.run(LISTED, { filter: { ...january, ...filter } });
  expect(counted.reduce((sum: number, [, logs]: [string, number]) => sum + logs, 0)).toBe(listed.length);
});

test("groups come page after page, those with the most logs first", async () => {
  const { nodes, pageInfo } = (await read({ by: "PROMPT", first: 1 })).data.logCounts;
  expect([nodes, pageInfo.hasNextPage]).toEqual([[{ key: "often", logs: 40 }], true]);
  expect(await groups({ by: "PROMPT", first: 1, after: pageInfo.endCursor })).toEqual([["seldom", 20]]);
});

test("another workspace has none, a period must not end before it begins, and a filter has at most 200 values", async () => {
  expect((await read({ by: "MODEL" }, other.token)).data.logCounts.nodes).toEqual([]);
  const backwards = await read({ by: "MODEL", from: "2026-02-01", to: "2026-01-01" });
  expect(backwards.errors[0].extensions.code).toBe("BAD_INPUT");
  const filter = { slug: Array.from({ length: 201 }, (_, n) => `s${n}`) };
  expect((await read({ by: "MODEL", filter })).errors[0].message).toContain("at most 200 values");
});
