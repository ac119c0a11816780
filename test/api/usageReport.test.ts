import { afterAll, expect, test } from "vitest";
import { addWorkspace } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");

const FIELDS = `key promptSlug logs unpricedLogs inputTokens outputTokens totalTokens cost
  p50LatencyMs p95LatencyMs p99LatencyMs`;
const USAGE = `query($from: DateTime!, $to: DateTime!, $by: UsageGroup, $zone: String, $slug: String, $first: Int) {
  usage(from: $from, to: $to, groupBy: $by, timeZone: $zone, slug: $slug, first: $first) { nodes { ${FIELDS} } } }`;

const january = { from: "2026-01-01", to: "2026-02-01" };
const empty = { key: null, promptSlug: null, logs: 0, unpricedLogs: 0, inputTokens: 0, outputTokens: 0 };
const nothing = {
  ...empty,
  totalTokens: 0,
  cost: 0,
  p50LatencyMs: null,
  p95LatencyMs: null,
  p99LatencyMs: null,
};

await addLogs(server, 1, () => ({ startTime: new Date("2025-12-31T23:59:59.999Z"), promptSlug: "before" }));
await addLogs(server, 1, () => ({ startTime: new Date("2026-02-01T00:00:00.000Z"), promptSlug: "after" }));
await addLogs(server, 100, (at) => ({
  startTime: new Date(Date.UTC(2026, 0, 1) + at * 3_600_000),
  promptSlug: at < 60 ? "often" : "seldom",
  version: at < 40 ? "1" : at < 80 ? "2" : null,
  model: at % 2 ? "gpt-4o" : null,
  userId: at < 5 ? "u-1" : at < 8 ? "u-2" : null,
  organizationId: at < 90 ? "o-1" : "o-2",
  inputTokens: at === 0 ? null : 10,
  outputTokens: 1,
  latencyMs: at === 99 ? null : at + 1,
  ...(at < 10 ? { cost: null, costSource: "UNPRICED" } : { cost: 0.1, costSource: "COMPUTED" }),
}));

const usage = (variables: object, token?: string) => server.run(USAGE, { ...january, ...variables }, token);
const counts = (groups: { key: string | null; logs: number }[]) => groups.map(({ key, logs }) => [key, logs]);

test("the whole of a time is summed up, its first millisecond included and its last one not", async () => {
  expect(await usage({})).toEqual([
    {
      key: null,
      promptSlug: null,
      logs: 100,
      unpricedLogs: 10,
      inputTokens: 990,
      outputTokens: 100,
      totalTokens: 1_090,
      cost: 9,
      // of 1 to 99, by nearest rank
      p50LatencyMs: 50,
      p95LatencyMs: 95,
      p99LatencyMs: 99,
    },
  ]);
});

test.each<[string, [string | null, number][]]>([
  [
    "PROMPT",
    [
      ["often", 60],
      ["seldom", 40],
    ],
  ],
  [
    "MODEL",
    [
      ["gpt-4o", 50],
      [null, 50],
    ],
  ],
  [
    "USER",
    [
      [null, 92],
      ["u-1", 5],
      ["u-2", 3],
    ],
  ],
  [
    "ORGANIZATION",
    [
      ["o-1", 90],
      ["o-2", 10],
    ],
  ],
])(
  "grouped by %s, those with the most logs come first, and those without one stand together",
  async (by, expected) => {
    expect(counts(await usage({ by }))).toEqual(expected);
  },
);

test.each(["MODEL", "USER", "ORGANIZATION", "DAY"])("grouped by %s, no group names a prompt", async (by) => {
  for (const { promptSlug } of await usage({ by })) expect(promptSlug).toBeNull();
});

test("versions are grouped by prompt, and usage can be limited to one prompt", async () => {
  const versions = await usage({ by: "VERSION" });
  const found = versions.map(({ promptSlug, key, logs }: Record<string, unknown>) => [promptSlug, key, logs]);
  expect(found).toEqual([
    ["often", "1", 40],
    ["often", "2", 20],
    ["seldom", "2", 20],
    ["seldom", null, 20],
  ]);
  expect(counts(await usage({ by: "VERSION", slug: "often" }))).toEqual([
    ["1", 40],
    ["2", 20],
  ]);
});

test("without a number a hundred groups come", async () => {
  await addLogs(server, 103, (at) => ({ startTime: new Date("2023-05-05"), userId: `many-${at}` }));
  expect(await usage({ from: "2023-05-01", to: "2023-06-01", by: "USER" })).toHaveLength(100);
});

test.each(["DAY", "USER"])("grouped by %s, others are served while it sums up", async (by) => {
  await addLogs(server, 3_000, (at) => ({
    startTime: new Date(Date.UTC(2022, 0, 1) + at * 9_000_000),
    userId: "u",
  }));
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await usage({ from: "2022-01-01", to: "2022-12-31", by });
  clearImmediate(next);
  expect(turns).toBeGreaterThan(by === "DAY" ? 312 : 6);
});

test("a thousand days, of which few have calls, are found with less than a tenth as many statements", async () => {
  await addLogs(server, 1, () => ({ startTime: new Date("2019-05-05") }));
  const stop = await captureStatements(server);
  const days = counts(await usage({ from: "2018-01-01", to: "2020-10-01", by: "DAY" }));
  const statements = stop().filter(({ sql }) => /from "?logs/.test(sql));
  expect(days).toHaveLength(1_004);
  expect(days.filter(([, logs]) => logs !== 0)).toEqual([["2019-05-05", 1]]);
  expect(statements.length).toBeGreaterThan(0);
  expect(statements.length).toBeLessThan(100);
});

test("a day at the end has no calls from beyond the end", async () => {
  const day = { from: "2026-01-01T00:00:00Z", to: "2026-01-01T05:00:00Z", by: "DAY" };
  expect(counts(await usage(day))).toEqual([["2026-01-01", 5]]);
});

test("groups have percentiles of their own, and no more groups come than are asked for", async () => {
  const [first, ...rest] = await usage({ by: "PROMPT", first: 1 });
  expect(first).toMatchObject({ key: "often", p50LatencyMs: 30, p95LatencyMs: 57, p99LatencyMs: 60 });
  expect(rest).toEqual([]);
});

test("nothing at all is nothing, not an error", async () => {
  const then = { from: "2024-01-01", to: "2024-01-03" };
  expect(await usage(then)).toEqual([nothing]);
  expect(await usage({ ...then, by: "USER" })).toEqual([]);
  expect(await usage({ ...then, by: "DAY" })).toEqual([
    { ...nothing, key: "2024-01-01" },
    { ...nothing, key: "2024-01-02" },
  ]);
  expect(await usage({ from: "2026-01-01", to: "2026-01-01" })).toEqual([nothing]);
});

test.each<[string, string | undefined, string, string, [string, number][]]>([
  [
    "UTC",
    undefined,
    "2026-01-01",
    "2026-01-03",
    [
      ["2026-01-01", 24],
      ["2026-01-02", 24],
    ],
  ],
  [
    "a zone east of it",
    "Asia/Kolkata",
    "2026-01-01T00:00:00Z",
    "2026-01-02T18:30:00Z",
    // the first day begins before the time does, and midnight is at half past
    [
      ["2026-01-01", 19],
      ["2026-01-02", 24],
    ],
  ],
  [
    "a zone west of it",
    "America/New_York",
    "2026-01-01T00:00:00Z",
    "2026-01-02T05:00:00Z",
    [
      ["2025-12-31", 5],
      ["2026-01-01", 24],
    ],
  ],
])("days are those of %s", async (_, zone, from, to, expected) => {
  expect(counts(await usage({ from, to, by: "DAY", zone }))).toEqual(expected);
});

test.each<[string, string, string[], number[]]>([
  ["a day of 23 hours", "Europe/Berlin", ["2026-03-28", "2026-03-31"], [24, 23, 24]],
  ["a day of 25 hours", "Europe/Berlin", ["2026-10-24", "2026-10-27"], [24, 25, 24]],
  ["a day without a midnight", "Africa/Cairo", ["2026-04-23", "2026-04-26"], [24, 23, 24]],
  ["a day that is half an hour longer", "Australia/Lord_Howe", ["2026-04-04", "2026-04-07"], [24, 24.5, 24]],
])("%s has the calls of that day", async (_, zone, [first, end], hours) => {
  const slug = zone.toLowerCase();
  const [from, to] = [
    Date.parse(`${first}T00:00:00Z`) - 86_400_000,
    Date.parse(`${end}T00:00:00Z`) + 86_400_000,
  ];
  const halfHour = 1_800_000;
  await addLogs(server, (to - from) / halfHour, (at) => ({
    startTime: new Date(from + at * halfHour),
    promptSlug: slug,
  }));
  const wide = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), by: "DAY", zone, slug };
  const days = await usage(wide);
  const found = days.filter(({ key }: { key: string }) => key >= first! && key < end!);
  expect(found.map(({ logs }: { logs: number }) => logs / 2)).toEqual(hours);
});

test("sums over many stretches are those of every single log, also of many that began at once", async () => {
  const startTime = new Date("2027-01-01T12:00:00Z");
  const { rows } = await addLogs(server, 12_000, (at) => ({
    startTime: at % 3 ? startTime : new Date(startTime.getTime() + at * 1_000),
    promptSlug: "bulk",
    userId: `u-${at % 7}`,
    latencyMs: (at * 37) % 5_000,
    inputTokens: at,
    cost: at / 1_000,
    costSource: "REPORTED",
  }));
  const range = { from: "2027-01-01", to: "2028-01-01" };
  const [all] = await usage(range);
  const sorted = rows.map(({ latencyMs }) => latencyMs!).toSorted((a, b) => a - b);
  expect(all).toMatchObject({ logs: 12_000, inputTokens: 71_994_000, p50LatencyMs: sorted[5_999] });
  expect(all.cost).toBeCloseTo(71_994, 6);
  expect(all).toMatchObject({ p95LatencyMs: sorted[11_399], p99LatencyMs: sorted[11_879] });
  expect((await usage({ ...range, by: "USER" })).map(({ logs }: { logs: number }) => logs)).toEqual([
    1715, 1715, 1714, 1714, 1714, 1714, 1714,
  ]);
});

test("another workspace has a usage of its own", async () => {
  await server.post(
    "/monitor/log",
    { slug: "x", output: 1, cost: 3, startTime: "2026-01-05" },
    { token: other.token },
  );
  expect(await usage({}, other.token)).toMatchObject([{ logs: 1, cost: 3 }]);
  expect(await usage({})).toMatchObject([{ logs: 100, cost: 9 }]);
});

test.each<[string, object, RegExp]>([
  ["an end before its beginning", { from: "2026-02-01", to: "2026-01-01" }, /to must not be before from/],
  ["no beginning", { from: null }, /from is required/],
  ["an empty beginning", { from: "" }, /from is required/],
  ["an unknown time zone", { by: "DAY", zone: "Mars/Olympus" }, /timeZone must be a time zone/],
  ["too many days", { from: "2001-01-01", by: "DAY" }, /to must be at most 1100 days after from/],
  ["too many groups", { by: "USER", first: 1_001 }, /first must be at most 1000/],
  ["an unknown group", { by: "WEEK" }, /groupBy must be one of DAY, PROMPT/],
])("%s is refused, naming it", async (_, variables, message) => {
  const { error } = await usage(variables);
  expect(error).toMatchObject({ code: "BAD_INPUT", message: expect.stringMatching(message) });
});

test("calls whose ids are too long for an index are summed up like others", async () => {
  const long = ["x", "y"].map((letter) => letter.repeat(3_000));
  await addLogs(server, 6, (at) => ({
    startTime: new Date("2021-05-05"),
    userId: at < 3 ? long[0]! : at < 5 ? long[1]! : "short",
    inputTokens: 1,
    latencyMs: at,
  }));
  const may = { from: "2021-05-01", to: "2021-06-01" };
  expect(counts(await usage({ ...may, by: "USER" }))).toEqual([
    [long[0], 3],
    [long[1], 2],
    ["short", 1],
  ]);
  expect(await usage(may)).toMatchObject([{ logs: 6, inputTokens: 6, p50LatencyMs: 2 }]);
});
