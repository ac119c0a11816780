import { afterAll, expect, test, vi } from "vitest";
import { pruneTraces } from "../src/logs/prune.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../src/workspaces/resolvers.ts";
import { addPrompt, addWorkspace } from "./data.ts";
import { addLogs } from "./logs.ts";
import { isOnPostgresql, startServer } from "./server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
await addPrompt(server, { slug: "guide", versions: [{ version: "1.0.0" }], tags: { production: "1.0.0" } });

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 10, minute)).toISOString();

/** One record a minute, each told by its name; what a case looks for is in some of them. */
const records: Record<string, Record<string, unknown>> = {
  plain: {},
  version: { version: "1.0.0" },
  unknown: { slug: "nobody-has-it" },
  user: { user: { id: "u-1", name: "Amina" } },
  organization: { organization: { id: "o-1", name: null } },
  both: { user: { id: "u-1", name: null }, organization: { id: "o-1", name: null } },
  cheap: { cost: 0.01 },
  dear: { cost: 2 },
  fast: { latencyMs: 5 },
  slow: { latencyMs: 60_000 },
  region: { metadata: { region: "eu", "a.b": 1, 'with "quotes"': true } },
  number: { output: { count: 4711 }, metadata: { region: 1, nothing: null, deep: { region: "eu" } } },
  words: { input: "The Capital of Kenya", output: "Nairobi,\nof course." },
  chat: { input: [{ role: "user", content: "line one\nZürich\ttwo" }], output: { answer: 'say "hello" 42' } },
};
for (const [minute, [name, { latencyMs, ...record }]] of Object.entries(records).entries()) {
  const startTime = at(minute);
  const endTime = latencyMs === undefined ? undefined : Date.parse(startTime) + (latencyMs as number);
  const { status } = await server.post("/monitor/log", {
    slug: "guide",
    output: "an answer",
    inputTokens: 1,
    outputTokens: 1,
    cost: 0.5,
    startTime,
    endTime,
    ...record,
    name,
  });
  expect(status).toBe(200);
}
await server.post(
  "/monitor/log",
  { slug: "guide", output: "Nairobi", user: { id: "u-1", name: null }, startTime: at(3) },
  { token: other.token },
);

const LOGS =
  "query($f: LogFilter, $n: Int, $a: ID) { logs(filter: $f, first: $n, after: $a) { id trace { name } } }";
const TRACES =
  "query($f: LogFilter, $n: Int, $a: ID) { traces(filter: $f, first: $n, after: $a) { id name } }";

interface Listed {
  id: string;
  name: string;
}

async function listLogs(f?: object, n?: number, a?: string, token?: string): Promise<Listed[]> {
  const logs = await server.run(LOGS, { f, n, a }, token);
  expect(logs.error).toBeUndefined();
  return logs.map(({ id, trace }: { id: string; trace: { name: string } }) => ({ id, name: trace.name }));
}

const names = (listed: Listed[]) => listed.map(({ name }) => name);
const all = Object.keys(records).toReversed();

test("logs and traces are listed with those that began last first", async () => {
  expect(names(await listLogs())).toEqual(all);
  expect(names(await server.run(TRACES))).toEqual(all);
});

test.each<[string, object, string[]]>([
  ["nothing", {}, all],
  ["a prompt", { slug: "nobody-has-it" }, ["unknown"]],
  ["a version", { version: "1.0.0" }, all.filter((name) => name !== "unknown")],
  ["a tag", { tag: "production" }, all.filter((name) => !["unknown", "version"].includes(name))],
  ["a user", { userId: "u-1" }, ["both", "user"]],
  ["an organization", { organizationId: "o-1" }, ["both", "organization"]],
  ["a user and an organization", { userId: "u-1", organizationId: "o-1" }, ["both"]],
  ["a prompt and a user", { slug: "guide", userId: "u-1" }, ["both", "user"]],
  ["another prompt and a user", { slug: "nobody-has-it", userId: "u-1" }, []],
  ["a time on", { from: at(12) }, ["chat", "words"]],
  ["before a time", { to: at(2) }, ["version", "plain"]],
  ["between two times", { from: at(1), to: at(3) }, ["unknown", "version"]],
  ["a time and itself", { from: at(1), to: at(1) }, []],
  ["a type", { type: "generation" }, all],
  ["a least cost", { minCost: 2 }, ["dear"]],
  ["a most cost", { maxCost: 0.01 }, ["cheap"]],
  ["a range of costs", { minCost: 0.02, maxCost: 0.4 }, []],
  ["a least latency", { minLatencyMs: 60_000 }, ["slow"]],
  ["a most latency", { maxLatencyMs: 5 }, ["fast"]],
  ["metadata", { metadata: [{ key: "region", value: "eu" }] }, ["region"]],
  ["a number in metadata", { metadata: [{ key: "region", value: 1 }] }, ["number"]],
  ["a number that is a text", { metadata: [{ key: "region", value: "1" }] }, []],
  ["true in metadata", { metadata: [{ key: 'with "quotes"', value: true }] }, ["region"]],
  ["null in metadata", { metadata: [{ key: "nothing", value: null }] }, ["number"]],
  ["a key with a dot", { metadata: [{ key: "a.b", value: 1 }] }, ["region"]],
  [
    "two members",
    {
      metadata: [
        { key: "region", value: "eu" },
        { key: "a.b", value: 1 },
      ],
    },
    ["region"],
  ],
  ["a word of the input", { text: "capital" }, ["words"]],
  ["a word of the output, in any case", { text: "NAIROBI" }, ["words"]],
  ["words of both", { text: "nairobi kenya" }, ["words"]],
  ["words of which one is missing", { text: "nairobi uganda" }, []],
  ["words in order", { text: '"capital of kenya"' }, ["words"]],
  ["words in another order", { text: '"kenya of capital"' }, []],
  ["the beginning of a word", { text: "nair*" }, ["words"]],
  ["half a word", { text: "nair" }, []],
  ["a word after a line break inside JSON", { text: "zürich" }, ["chat"]],
  ["a word beside quotes inside JSON", { text: "hello" }, ["chat"]],
  ["a number in a text", { text: "42" }, ["chat"]],
  ["a word that is a key, not a value", { text: "role" }, []],
  ["words of which one is in each part", { text: '"kenya nairobi"' }, []],
  ["the beginning of words in order", { text: '"capital of ken"*' }, ["words"]],
  ["a number that is no text", { text: "4711" }, ["number"]],
  ["a letter without its accent", { text: "zurich" }, []],
  ["signs beside words", { text: "nairobi ---" }, ["words"]],
  ["what looks like the index's own language", { text: 'nairobi OR body:x NEAR( " ^' }, []],
  ["a text and a user", { text: "nairobi", userId: "u-1" }, []],
  ["a word that many have", { text: "answer", minCost: 2 }, ["dear"]],
])("filtered by %s, logs and traces are those that have it", async (_, filter, expected) => {
  expect(names(await listLogs(filter))).toEqual(expected);
  expect(names(await server.run(TRACES, { f: filter }))).toEqual(expected);
});

test("pages follow each other without a gap or a repetition, while new logs arrive and old ones are late", async () => {
  const since = { from: at(0), to: at(59) };
  const paged: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await listLogs(since, 4, after);
    paged.push(...names(page));
    if (page.length < 4) break;
    after = page.at(-1)!.id;
    await server.post("/monitor/log", { slug: "guide", output: 1, startTime: at(58), name: "new" });
  }
  expect(paged).toEqual(all);
  const [newest] = await server.run(TRACES, { f: { slug: "guide" }, n: 1 });
  expect(newest.name).toBe("new");
  const [second] = await server.run(TRACES, { f: { to: at(14) }, n: 1, a: newest.id });
  expect(second.name).toBe("chat");
});

test("logs that began in the same millisecond keep one order over the pages", async () => {
  const slug = "same-time";
  const { ids } = await addLogs(server, 30, () => ({ promptSlug: slug, startTime: new Date(at(0)) }));
  const paged: string[] = [];
  for (let after: string | undefined; ; after = paged.at(-1)) {
    const page = await listLogs({ slug }, 7, after);
    paged.push(...page.map(({ id }) => id));
    if (page.length < 7) break;
  }
  expect(paged).toEqual(ids.toReversed());
});

test("among thousands of logs each filter finds the same as looking at every one of them", async () => {
  const slug = "many";
  const start = Date.UTC(2026, 5, 1);
  const { rows } = await addLogs(server, 5_000, (at) => ({
    promptSlug: slug,
    startTime: new Date(start + ((at * 7_919) % 5_000) * 1_000),
    cost: (at % 100) / 100,
    userId: at % 3 === 0 ? `user-${at % 30}` : null,
    input: at % 2 === 0 ? "an even thing" : "an odd thing",
    output: at % 1_000 === 7 ? "a needle" : "hay",
    metadata: at % 10 === 0 ? { step: at % 50 } : null,
  }));
  const newestFirst = rows.toSorted((a, b) => b.startTime.getTime() - a.startTime.getTime());
  type Row = (typeof rows)[number];
  const cases: [object, (row: Row) => boolean][] = [
    [{ text: "needle" }, ({ output }) => output === "a needle"],
    [{ text: "even" }, ({ input }) => input === "an even thing"],
    [{ text: "even needle" }, () => false],
    [{ text: "thing", minCost: 0.99 }, ({ cost }) => cost === 0.99],
    [
      { text: "odd", userId: "user-3" },
      ({ input, userId }) => input === "an odd thing" && userId === "user-3",
    ],
    [{ minCost: 0.99 }, ({ cost }) => cost === 0.99],
    [{ metadata: [{ key: "step", value: 30 }] }, ({ metadata }) => metadata?.step === 30],
    [{ userId: "user-3", maxCost: 0.2 }, ({ userId, cost }) => userId === "user-3" && cost! <= 0.2],
  ];
  for (const [filter, fits] of cases) {
    const expected = newestFirst.filter(fits).map(({ id }) => id);
    const paged: string[] = [];
    for (let after: string | undefined; ; after = paged.at(-1)) {
      const page = await listLogs({ slug, ...filter }, 100, after);
      paged.push(...page.map(({ id }) => id));
      if (page.length < 100) break;
    }
    expect([filter, paged]).toEqual([filter, expected]);
  }
}, 60_000);

test("filters that no index answers let others be served in between", async () => {
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  expect(await listLogs({ slug: "many", version: "none" })).toEqual([]);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(2);
});

test.skipIf(isOnPostgresql)(
  "on SQLite: words are looked up in another process, so that no search holds others up",
  async () => {
    const connection = server.database.orm.em.getConnection("read") as unknown as Handle;
    const handle = await connection.getNativeClient();
    const prepare = vi.spyOn(handle, "prepare");
    try {
      expect(await listLogs({ slug: "many", text: "needle" })).toHaveLength(5);
      expect(await listLogs({ slug: "many", text: "thing", minCost: 2 })).toEqual([]);
      expect(prepare).toHaveBeenCalled();
      expect(prepare.mock.calls.filter(([text]) => text.includes("log_texts"))).toEqual([]);
    } finally {
      prepare.mockRestore();
    }
  },
);

interface Handle {
  getNativeClient(): Promise<{ prepare(text: string): unknown }>;
}

test("what is pruned is not found any more, neither by its words nor by its time", async () => {
  await addLogs(server, 3, () => ({
    promptSlug: "old",
    output: "forgettable",
    startTime: new Date("2020-01-01"),
  }));
  const count = async () => (await server.database.orm.em.fork().execute(INDEXED))[0]!.found;
  expect(names(await listLogs({ text: "forgettable" }))).toHaveLength(3);
  expect(await count()).toBe(3);
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  await pruneTraces(context, new Date("2021-01-01"));
  expect(await listLogs({ text: "forgettable" })).toEqual([]);
  expect(await count()).toBe(0);
});

const INDEXED = `select count(*) as found from log_texts where ${isOnPostgresql ? "body like '% forgettable %'" : "log_texts match 'forgettable'"}`;

test("of a huge input the first 100,000 characters are found, and it does no harm", async () => {
  const input = { text: `beginning ${"x ".repeat(60_000)} ending` };
  await server.post("/monitor/log", { slug: "huge", input, output: "tail" });
  const found = async (text: string) => (await listLogs({ slug: "huge", text })).length;
  expect([await found("beginning"), await found("tail"), await found("ending")]).toEqual([1, 1, 0]);
});

test.each<[string, object, RegExp]>([
  ["a text without a word", { f: { text: "!?" } }, /filter\.text must have a letter or a digit/],
  ["an empty text", { f: { text: "" } }, /filter\.text/],
  ["an end before its beginning", { f: { from: at(2), to: at(1) } }, /filter\.to must not be before from/],
  ["a time that is none", { f: { from: "yesterday" } }, /filter\.from must be an existing time/],
  [
    "metadata that is an object",
    { f: { metadata: [{ key: "a", value: {} }] } },
    /metadata\.0\.value must be a string/,
  ],
  ["a text too long", { f: { text: "a".repeat(1_001) } }, /filter\.text must have at most 1000 characters/],
  [
    "too much metadata",
    { f: { metadata: Array(11).fill({ key: "a", value: 1 }) } },
    /filter\.metadata must have at most 10 items/,
  ],
  ["a page of nothing", { n: 0 }, /first must be at least 1/],
  ["a page too large", { n: 101 }, /first must be at most 100/],
  ["a cursor that is no id", { a: "x" }, /after must be the id of a log or a trace/],
  [
    "the cursor of nothing",
    { a: "01890a5d-ac96-774b-bcce-b302099a8057" },
    /after is not the id of a (log|trace)/,
  ],
])("%s is refused by both lists, naming it", async (_, variables, message) => {
  for (const list of [LOGS, TRACES]) {
    const { error } = await server.run(list, variables as Record<string, unknown>);
    expect(error).toMatchObject({ code: "BAD_INPUT", message: expect.stringMatching(message) });
  }
});

test("another workspace sees only its own logs, and a cursor of this one is nothing to it", async () => {
  expect(names(await listLogs({}, undefined, undefined, other.token))).toEqual(["guide"]);
  expect(names(await listLogs({ text: "nairobi" }, undefined, undefined, other.token))).toEqual(["guide"]);
  expect(names(await listLogs({ text: "kenya" }, undefined, undefined, other.token))).toEqual([]);
  const [mine] = await listLogs({}, 1);
  const { error } = await server.run(LOGS, { a: mine!.id }, other.token);
  expect(error).toMatchObject({ code: "BAD_INPUT" });
});
