import { afterAll, expect, test } from "vitest";
import { toCursor } from "../../src/validation/pagination.ts";
import { addPrompt, addWorkspace } from "../support/data.ts";
import { LOGS, logLister, names, TRACES } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
await addPrompt(server, { slug: "guide", versions: [{ version: "1.0.0" }], tags: { production: "1.0.0" } });

const SOME_ID = "01900000-0000-7000-8000-000000000001";
const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 10, minute)).toISOString();

/** One record a minute, each known by its name; what a case looks for is in some of them. */
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

const listLogs = logLister(server);
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
  ["a type", { type: "GENERATION" }, all],
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
  [
    "a member that is asked for twice",
    {
      metadata: [
        { key: "region", value: "eu" },
        { key: "region", value: "eu" },
      ],
    },
    ["region"],
  ],
  [
    "two values of one member",
    {
      metadata: [
        { key: "region", value: "eu" },
        { key: "region", value: 1 },
      ],
    },
    [],
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
  ["32 words, one with an accent of its own", { text: `${"nairobi ".repeat(31)}e\u0301` }, []],
  ["a letter without its accent", { text: "zurich" }, []],
  ["signs beside words", { text: "nairobi ---" }, ["words"]],
  ["what looks like the index's own language", { text: 'nairobi OR body:x NEAR( " ^' }, []],
  ["a text and a user", { text: "nairobi", userId: "u-1" }, []],
  ["a word that many have", { text: "answer", minCost: 2 }, ["dear"]],
])("filtered by %s, logs and traces are those that have it", async (_, filter, expected) => {
  expect(names(await listLogs(filter))).toEqual(expected);
  expect(names(await server.run(TRACES, { f: filter }))).toEqual(expected);
});

test.each<[string, object, RegExp]>([
  ["a text without a word", { f: { text: "!?" } }, /filter\.text must have a letter or a digit/],
  ["a text of 33 words", { f: { text: "a ".repeat(33) } }, /filter\.text must have at most 32 words/],
  [
    "one of 33 characters for private use",
    { f: { text: `a${"\u{e000} ".repeat(32)}a` } },
    /at most 32 words/,
  ],
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
    "a long key of metadata",
    { f: { metadata: [{ key: "k".repeat(4_097), value: 1 }] } },
    /metadata\.0\.key must have at most 4096 characters/,
  ],
  [
    "a long value of metadata",
    { f: { metadata: [{ key: "k", value: "v".repeat(4_097) }] } },
    /metadata\.0\.value must have at most 4096 characters/,
  ],
  ["a long slug", { f: { not: { slug: "s".repeat(4_097) } } }, /slug.* must have at most 4096 characters/],
  [
    "too much metadata",
    { f: { metadata: Array(11).fill({ key: "a", value: 1 }) } },
    /filter\.metadata must have at most 10 items/,
  ],
  ["too many values", { f: { slug: Array(200).fill("a") } }, /filter must have at most 200 values/],
  [
    "too many conditions at any depth",
    { f: { not: { or: Array(200).fill({}) } } },
    /filter must have at most 200 values and conditions together/,
  ],
  [
    "hundreds of thousands of conditions",
    { f: { or: Array(100_000).fill({}) } },
    /the input has more than 10,000 objects in its lists; send less at once/,
  ],
  [
    "a condition of another kind",
    { f: { or: [{ not: { minCost: "a lot" } }] } },
    /filter\.or\.0\.not\.minCost/,
  ],
  ["words within a condition", { f: { or: [{ text: "a" }] } }, /Variable "\$f" is invalid/],
  ["a page of less than nothing", { n: -1 }, /first must be at least 0/],
  ["a page too large", { n: 101 }, /first must be at most 100/],
  ["a cursor of another list", { a: toCursor("a-slug") }, /after is not a cursor of this list/],
  ["a cursor at no time", { a: toCursor(`noon ${SOME_ID}`) }, /after is not a cursor of this list/],
  [
    "a cursor after the year 9999",
    { a: toCursor(`253402300800000 ${SOME_ID}`) },
    /after is not a cursor of this list/,
  ],
  ["a cursor with more", { a: toCursor(`0 ${SOME_ID} more`) }, /after is not a cursor of this list/],
])("%s is refused by both lists, naming it", async (_, variables, message) => {
  for (const list of [LOGS, TRACES]) {
    const { error } = await server.run(list, variables as Record<string, unknown>);
    expect(error).toMatchObject({ code: "BAD_INPUT", message: expect.stringMatching(message) });
  }
});

test("another workspace sees only its own logs, also after a cursor of this one", async () => {
  expect(names(await listLogs({}, undefined, undefined, other.token))).toEqual(["guide"]);
  expect(names(await listLogs({ text: "nairobi" }, undefined, undefined, other.token))).toEqual(["guide"]);
  expect(names(await listLogs({ text: "kenya" }, undefined, undefined, other.token))).toEqual([]);
  const last = (await listLogs({}, 100)).at(-1)!;
  expect(await listLogs({}, undefined, last.cursor, other.token)).toEqual([]);
});

test("a search finds words in the first 100,000 characters of the input and of the output, and none behind", async () => {
  const { token } = await addWorkspace(server, "long");
  const long = `${`${"x".repeat(99)} `.repeat(999)}within ${"x".repeat(99)} behind`;
  for (const parts of [
    { input: long, output: "" },
    { input: "", output: long },
  ])
    expect(await server.post("/monitor/log", { slug: "long", ...parts }, { token })).toMatchObject({
      status: 200,
    });
  expect(names(await listLogs({ text: "within" }, undefined, undefined, token))).toEqual(["long", "long"]);
  expect(names(await listLogs({ text: "behind" }, undefined, undefined, token))).toEqual([]);
});
