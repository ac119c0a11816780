import { EntityManager } from "@mikro-orm/core";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, test, vi } from "vitest";
import { importSpans } from "../../src/logs/importedSpans.resolvers.ts";
import { readFileSpans } from "../../src/logs/otlp/fileSpans.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt, addWorkspace, model } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { captureStatements, type Statement } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
await addPrompt(server, {
  slug: "guide",
  versions: [{ version: "1.0.0", model: model("openai", "gpt-4o-mini") }],
  tags: { production: "1.0.0" },
});

const START_MS = Date.UTC(2026, 2, 1, 10);
const hex = (n: number, digits: number) => n.toString(16).padStart(digits, "0");
let traces = 0;
const newTraceId = () => `${hex(++traces, 8)}${hex(Date.now(), 24)}`;

type Attributes = Record<string, string | number | boolean>;
interface TestSpan {
  id: number;
  parent?: number | undefined;
  name?: string;
  startMs?: number;
  tookMs?: number;
  flags?: number;
  attributes?: Attributes;
}

function toValue(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const toAttributes = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }));

function toOtlp(
  traceId: string,
  { id, parent, name, startMs = 0, tookMs = 10, flags, attributes = {} }: TestSpan,
) {
  return {
    traceId,
    spanId: hex(id + 1, 16),
    ...(parent !== undefined && { parentSpanId: hex(parent + 1, 16) }),
    name: name ?? `span ${id}`,
    kind: 1,
    startTimeUnixNano: `${START_MS + startMs}000000`,
    endTimeUnixNano: `${START_MS + startMs + tookMs}000000`,
    ...(flags !== undefined && { flags }),
    attributes: toAttributes(attributes),
    status: {},
  };
}

const bodyOf = (traceId: string, spans: TestSpan[]) => ({
  resourceSpans: [{ scopeSpans: [{ spans: spans.map((span) => toOtlp(traceId, span)) }] }],
});

const post = (traceId: string, spans: TestSpan[], token: string) =>
  server.post("/v1/traces", bodyOf(traceId, spans), { token });

async function send(traceId: string, spans: TestSpan[], token = server.token) {
  const { status, body } = await post(traceId, spans, token);
  expect([status, body]).toEqual([200, {}]);
}

async function sendWith(warning: RegExp, traceId: string, spans: TestSpan[]) {
  const { body } = await post(traceId, spans, server.token);
  expect(body.partialSuccess).toEqual({ rejectedSpans: 0, errorMessage: expect.stringMatching(warning) });
}

const FIELDS = `name externalId sessionId environment featureSlug input output user { id name } organization { id name } startTime endTime complete logCount
  generationCount cost unpricedCount usage { inputTokens cacheReadTokens outputTokens reasoningTokens } root { name }
  logs(first: 2000) { nodes { externalId depth missingParent name type costSource cost model version attributes
    usage { inputTokens cacheReadTokens cacheWriteTokens outputTokens reasoningTokens }
    subtree { logs cost inputTokens outputTokens } } }`;

async function read(traceId: string) {
  const { body } = await server.graphql(`query($id: ID!) { trace(id: $id) { ${FIELDS} } }`, { id: traceId });
  expect(body.errors).toBeUndefined();
  return body.data.trace;
}

const call = (tokens: number, more: Attributes = {}): Attributes => ({
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "gpt-4o-mini",
  "gen_ai.usage.input_tokens": tokens,
  "gen_ai.usage.output_tokens": 10,
  ...more,
});

test("spans become logs of one trace, in any number of requests, with what the root says of it", async () => {
  const traceId = newTraceId();
  await send(traceId, [{ id: 2, parent: 1, startMs: 20, attributes: call(100) }]);
  expect(await read(traceId)).toMatchObject({ complete: false, root: null, name: "span 2", logCount: 1 });
  await send(traceId, [
    { id: 1, parent: 0, startMs: 10, tookMs: 40 },
    {
      ...{ id: 0, name: "plan", startMs: 0, tookMs: 100 },
      attributes: { "session.id": "s-1", "user.id": "u-1", "input.value": "in", "output.value": "out" },
    },
  ]);
  const trace = await read(traceId);
  expect(trace).toMatchObject({
    ...{ name: "plan", sessionId: "s-1", user: { id: "u-1" }, input: "in", output: "out", complete: true },
    ...{ logCount: 3, generationCount: 1, root: { name: "plan" }, cost: 0.000021 },
    ...{ startTime: new Date(START_MS).toISOString(), endTime: new Date(START_MS + 100).toISOString() },
  });
  const shape = trace.logs.nodes.map(({ name, depth }: Record<string, unknown>) => [name, depth]);
  expect(shape).toEqual([
    ["plan", 0],
    ["span 1", 1],
    ["span 2", 2],
  ]);
});

test("spans that begin in one millisecond are shown in the order of their nanoseconds", async () => {
  const traceId = newTraceId();
  const spans = [7, 3, 9, 1, 5].map((nanos) => ({
    ...toOtlp(traceId, { id: nanos }),
    startTimeUnixNano: `${START_MS}0${nanos}0000`,
  }));
  await server.post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
  const { logs } = await read(traceId);
  expect(logs.nodes.map(({ name }: { name: string }) => name)).toEqual(
    [1, 3, 5, 7, 9].map((nanos) => `span ${nanos}`),
  );
});

test("a span that is sent again is there once, with the attributes that came last", async () => {
  const traceId = newTraceId();
  const spans = [{ id: 0 }, { id: 1, parent: 0, attributes: { first: "one" } }];
  await send(traceId, spans);
  const before = await read(traceId);
  await send(traceId, spans);
  expect(await read(traceId)).toEqual(before);
  await send(traceId, [{ id: 1, parent: 0, attributes: { first: "one", second: "two" } }]);
  const { logCount, logs } = await read(traceId);
  expect(logCount).toBe(2);
  expect(logs.nodes[1].attributes.span).toEqual({ first: "one", second: "two" });
});

test("the words of a span that is sent again are found as they are now, and not as they were", async () => {
  const traceId = newTraceId();
  await send(traceId, [{ id: 0, attributes: { "input.value": "zebra" } }]);
  await send(traceId, [{ id: 0, attributes: { "input.value": "giraffe" } }]);
  const find = async (text: string) =>
    (await server.run("query($f: LogFilter) { logs(filter: $f) { nodes { id } } }", { f: { text } })).length;
  expect([await find("zebra"), await find("giraffe")]).toEqual([0, 1]);
});

test.each([
  [
    "an agent that repeats the sum of its calls",
    [
      { id: 0, attributes: { ...call(150), "gen_ai.operation.name": "invoke_agent" } },
      { id: 1, parent: 0, attributes: call(100) },
      { id: 2, parent: 0, attributes: call(50) },
    ],
    150,
  ],
  [
    "a call around the same call",
    [
      { id: 0, attributes: call(100) },
      { id: 1, parent: 0, attributes: call(100) },
    ],
    100,
  ],
  [
    "an agent whose calls were not instrumented",
    [
      { id: 0, attributes: { ...call(150), "gen_ai.operation.name": "invoke_agent" } },
      { id: 1, parent: 0 },
    ],
    150,
  ],
  [
    "two reports of one answer beside each other",
    [
      { id: 0 },
      { id: 1, parent: 0, attributes: call(100, { "gen_ai.response.id": "r-1" }) },
      { id: 2, parent: 0, attributes: call(100, { "gen_ai.response.id": "r-1" }) },
      { id: 3, parent: 0, attributes: call(100, { "gen_ai.response.id": "r-2" }) },
    ],
    200,
  ],
  [
    "a chain of two different calls",
    [
      { id: 0, attributes: call(100) },
      { id: 1, parent: 0, attributes: call(30) },
    ],
    130,
  ],
] as [string, TestSpan[], number][])(
  "%s counts what the calls took, whatever comes first",
  async (_, spans, tokens) => {
    const inTime = spans.map((span) => ({ ...span, startMs: span.id }));
    for (const order of [inTime, inTime.toReversed()]) {
      const [together, apart] = [newTraceId(), newTraceId()];
      await send(together, order);
      for (const span of order) await send(apart, [span]);
      for (const traceId of [together, apart]) {
        const { usage, logs } = await read(traceId);
        expect(usage.inputTokens).toBe(tokens);
        expect(logs.nodes[0].subtree.inputTokens).toBe(tokens);
      }
      expect(await read(apart)).toEqual({ ...(await read(together)), externalId: apart });
    }
  },
);

test("cached tokens and reasoning are parts of their own, and priced as such", async () => {
  const traceId = newTraceId();
  const cached = { "gen_ai.usage.cache_read.input_tokens": 800, "gen_ai.usage.reasoning.output_tokens": 4 };
  await send(traceId, [{ id: 0, attributes: call(1_000, cached) }]);
  const { logs, cost } = await read(traceId);
  expect(logs.nodes[0].usage).toEqual({
    ...{
      inputTokens: 200,
      cacheReadTokens: 800,
      cacheWriteTokens: null,
      outputTokens: 6,
      reasoningTokens: 4,
    },
  });
  // gpt-4o-mini: 0.15 $ a million of input, 0.075 $ of cached input, 0.60 $ of output
  expect(cost).toBeCloseTo((200 * 0.15 + 800 * 0.075 + 10 * 0.6) / 1e6, 12);
});

test("a call that names a prompt is linked to the version that served", async () => {
  const traceId = newTraceId();
  await send(traceId, [{ id: 0, attributes: call(10, { "gabbro.prompt.slug": "guide" }) }]);
  const query = `{ logs(filter: { slug: "guide" }, first: 1) { nodes { version tag prompt { slug } } } }`;
  expect(await server.run(query)).toEqual([
    { version: "1.0.0", tag: "production", prompt: { slug: "guide" } },
  ]);
});

test("a span that is sent again keeps the version, the tag and the model that served, unless it names another version", async () => {
  const versions = ["gpt-4o-mini", "gpt-4o"].map((name, n) => ({
    version: `${n + 1}.0.0`,
    model: model("openai", name),
  }));
  await addPrompt(server, { slug: "moving", versions, tags: { production: "1.0.0" } });
  const traceId = newTraceId();
  const { "gen_ai.request.model": _, ...attributes } = call(1_000, { "gabbro.prompt.slug": "moving" });
  const query = `{ logs(filter: { slug: "moving" }) { nodes { version tag model cost prompt { slug } } } }`;
  const sendAgain = async (more: Attributes = {}) => {
    await send(traceId, [{ id: 0, attributes: { ...attributes, ...more } }]);
    return server.run(query);
  };
  const served = { version: "1.0.0", tag: "production", model: "gpt-4o-mini", prompt: { slug: "moving" } };
  expect(await sendAgain()).toEqual([{ ...served, cost: 0.000156 }]);
  await server.run(
    'mutation { publishPrompt(slug: "moving", input: { newTag: "production", to: { version: "2.0.0" } }) { promptTag { id } } }',
  );
  expect(await sendAgain()).toEqual([{ ...served, cost: 0.000156 }]);
  expect(await sendAgain({ "gen_ai.usage.input_tokens": 2_000 })).toEqual([{ ...served, cost: 0.000306 }]);
  const named = await sendAgain({ "gabbro.prompt.version": "2.0.0" });
  expect(named).toMatchObject([{ version: "2.0.0", tag: null, model: "gpt-4o" }]);
});

test("a span for which nothing served takes what is found when it is sent again", async () => {
  const traceId = newTraceId();
  const query = `{ logs(filter: { slug: "later" }) { nodes { version tag prompt { slug } } } }`;
  const sendAgain = async (more: Attributes = {}) => {
    const attributes = call(10, { "gabbro.prompt.slug": "later", ...more });
    await post(traceId, [{ id: 0, attributes }], server.token);
    return server.run(query);
  };
  expect(await sendAgain()).toEqual([{ version: null, tag: null, prompt: null }]);
  const named = { "gabbro.prompt.version": "1.0.0" };
  expect(await sendAgain(named)).toEqual([{ version: "1.0.0", tag: null, prompt: null }]);
  await addPrompt(server, { slug: "later", versions: [{ version: "1.0.0" }], tags: { production: "1.0.0" } });
  expect(await sendAgain(named)).toEqual([{ version: "1.0.0", tag: null, prompt: { slug: "later" } }]);
});

test("a span that was stored before its prompt was published is linked when it is sent again", async () => {
  const traceId = newTraceId();
  const query = `{ logs(filter: { slug: "unpublished" }) { nodes { version tag prompt { slug } } } }`;
  const sendAgain = async () => {
    const attributes = call(10, { "gabbro.prompt.slug": "unpublished" });
    await post(traceId, [{ id: 0, attributes }], server.token);
    return server.run(query);
  };
  expect(await sendAgain()).toEqual([{ version: null, tag: null, prompt: null }]);
  await addPrompt(server, { slug: "unpublished", versions: [{ version: "1" }], tags: { production: "1" } });
  expect(await sendAgain()).toEqual([{ version: "1", tag: "production", prompt: { slug: "unpublished" } }]);
});

test("a root whose parent is in another service is the root, until that parent is stored, too", async () => {
  const traceId = newTraceId();
  const remote = 0x300;
  await send(traceId, [{ id: 5, parent: 9, flags: remote, name: "service", startMs: 5 }]);
  expect(await read(traceId)).toMatchObject({ name: "service", complete: true, root: { name: "service" } });
  await send(traceId, [{ id: 9, name: "gateway", startMs: 0, tookMs: 50 }]);
  const { name, logs } = await read(traceId);
  expect(name).toBe("gateway");
  expect(logs.nodes.map(({ depth }: { depth: number }) => depth)).toEqual([0, 1]);
});

test("calls of client libraries to Gabbro are hidden from lists, trees and usage", async () => {
  const traceId = newTraceId();
  const alone = newTraceId();
  const internal = { "basalt.internal.api": true, "basalt.span.output": "a whole prompt" };
  const startMs = 86_400_000; // a day after all others
  await send(traceId, [
    { id: 0, startMs },
    { id: 1, startMs, parent: 0, attributes: internal },
    { id: 2, startMs, parent: 1 },
  ]);
  await send(alone, [{ id: 0, startMs, attributes: internal }]);
  const { logs, complete } = await read(traceId);
  expect(logs.nodes.map(({ name, depth }: Record<string, unknown>) => [name, depth])).toEqual([
    ["span 0", 0],
    ["span 2", 1],
  ]);
  expect(complete).toBe(true);
  const listed = await server.run("{ traces(first: 100) { nodes { externalId } } }");
  const ids = listed.map(({ externalId }: { externalId: string }) => externalId);
  expect([ids.includes(traceId), ids.includes(alone)]).toEqual([true, false]);
  const list = (filter: object) =>
    server.run("query($filter: LogFilter) { logs(filter: $filter) { nodes { type output attributes } } }", {
      filter: { from: new Date(START_MS + startMs).toISOString(), ...filter },
    });
  const [span, hidden] = ["SPAN", "INTERNAL"].map((type) => expect.objectContaining({ type }));
  expect(await list({})).toEqual([span, span]);
  const type = "INTERNAL";
  expect(await list({ type })).toEqual(Array(2).fill({ type, output: null, attributes: null }));
  expect(await list({ and: [{ or: [{ type }, { type: "TOOL" }] }] })).toEqual([hidden, hidden]);
  expect(await list({ or: [{ not: { type } }, { type: "SPAN" }] })).toEqual([span, span]);
});

test.each([
  ["before", [0, 1, 2]],
  ["after", [2, 1, 0]],
])(
  "a call is counted for the user that its own span names, also where its root comes %s it",
  async (when, order) => {
    const traceId = newTraceId();
    const user = `of-${when}`;
    const spans: TestSpan[] = [
      { id: 0, attributes: { "user.id": user } },
      { id: 1, parent: 0, attributes: call(10) },
      { id: 2, parent: 0, attributes: call(100, { "user.id": user }) },
    ];
    for (const at of order) await send(traceId, [spans[at]!]);
    expect((await read(traceId)).user).toEqual({ id: user, name: null });
    const day = { from: "2026-03-01", to: "2026-03-02" };
    const query = `query($from: DateTime!, $to: DateTime!, $filter: UsageFilter) {
    usage(from: $from, to: $to, filter: $filter) { nodes { logs inputTokens } } }`;
    expect(await server.run(query, { ...day, filter: { userId: user } })).toEqual([
      { logs: 1, inputTokens: 100 },
    ]);
  },
);

test("two workspaces that send the same span have one each", async () => {
  const traceId = newTraceId();
  await send(traceId, [{ id: 0, name: "mine" }]);
  await send(traceId, [{ id: 0, name: "theirs" }], other.token);
  expect(await read(traceId)).toMatchObject({ name: "mine", logCount: 1 });
});

test("texts that no database stores are stored without what cannot be, and the span is kept", async () => {
  const traceId = newTraceId();
  await sendWith(/characters that cannot be stored/, traceId, [
    { id: 0, name: "n\0ul", attributes: { "user.id": "u".repeat(5_000), "a\0": "b\0" } },
  ]);
  const { name, user, logs } = await read(traceId);
  expect(name).toBe("n\uFFFDul");
  expect(user.id).toHaveLength(512);
  expect(logs.nodes[0].attributes.span["a\uFFFD"]).toBe("b\uFFFD");
});

test("a span whose name is too long has its beginning, and keeps the whole among its attributes", async () => {
  const traceId = newTraceId();
  const long = `${"n".repeat(510)}🦓 and more`; // the cut is within the zebra
  await send(traceId, [{ id: 0, name: long, attributes: { "langfuse.trace.name": `trace ${long}` } }]);
  const { name, logs } = await read(traceId);
  expect(name).toBe(`trace ${"n".repeat(505)}…`);
  expect(logs.nodes[0].name).toBe(`${"n".repeat(510)}…`);
  expect(logs.nodes[0].attributes).toMatchObject({ name: long, kind: "internal" });
});

test("so has the name of a user and of an organization", async () => {
  const traceId = newTraceId();
  const [user, organization] = ["u", "o"].map((letter) => letter.repeat(5_000));
  await send(traceId, [
    {
      id: 0,
      attributes: {
        ...{ "basalt.user.id": "1", "basalt.user.name": user! },
        ...{ "basalt.organization.id": "2", "basalt.organization.name": organization! },
      },
    },
  ]);
  const { logs, ...trace } = await read(traceId);
  expect(trace.user.name).toBe(`${"u".repeat(511)}…`);
  expect(trace.organization.name).toBe(`${"o".repeat(511)}…`);
  expect(logs.nodes[0].attributes.span).toMatchObject({ "basalt.user.name": user });
});

test("long spans are stored few at a time, with others served in between", async () => {
  const { insertInPieces, search } = server.database;
  const [pieces, pauses]: [number[], number[]] = [[], []];
  const insert = vi.spyOn(server.database, "insertInPieces").mockImplementation((em, all, pause) => {
    const counted = Iterator.from(all).map((rows) => {
      pieces.push(rows.length);
      return rows;
    });
    return insertInPieces(em, counted, () => {
      pauses.push(pieces.length);
      return pause();
    });
  });
  const attributesOf = (id: number) => ({ "input.value": `number${id} ${"word ".repeat(10_000)}` });
  await send(
    newTraceId(),
    Array.from({ length: 30 }, (_, id) => ({ id, parent: id - 1, attributes: attributesOf(id) })),
  );
  insert.mockRestore();
  for (const id of [0, 1, 2, 15, 29]) {
    const found = await server.run(`{ logs(filter: { text: "number${id}" }) { nodes { name } } }`);
    expect(found).toEqual([{ name: `span ${id}` }]);
  }
  expect(pieces.reduce((sum, count) => sum + count, 0)).toBe(30);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(2);
  expect(pauses.length).toBeGreaterThanOrEqual(search.isServer ? pieces.length : pieces.length + 30); // for the words of each
});

test("what attributes share with the input is put together once, however many fields ask for them", async () => {
  const traceId = newTraceId();
  const input = Array.from({ length: 1_000 }, (_, n) => n);
  await send(traceId, [{ id: 0, attributes: { "input.value": JSON.stringify(input) } }]);
  const stringify = vi.spyOn(JSON, "stringify");
  const fields = Array.from({ length: 20 }, (_, n) => `a${n}: attributes`).join(" ");
  const { root } = await server.run(`{ trace(id: "${traceId}") { root { input ${fields} } } }`);
  const written = stringify.mock.calls.filter(([value]) => Array.isArray(value) && value.length === 1_000);
  stringify.mockRestore();
  expect(root.input).toEqual(input);
  expect(root.a19.span["input.value"]).toBe(JSON.stringify(input));
  expect(written).toHaveLength(1);
});

test("many spans that are sent again replace those that are stored, 64 in a statement", async () => {
  const traceId = newTraceId();
  const spans = Array.from({ length: 200 }, (_, id) => ({ id }));
  await send(traceId, spans);
  const stop = await captureStatements(server);
  await send(traceId, spans);
  const removals = stop().filter(({ sql }) => /^delete from [`"]logs[`"]/.test(sql));
  const idsOf = ({ sql }: Statement) => sql.slice(sql.indexOf(" in (")).split(",").length;
  expect(removals.map(idsOf)).toEqual([64, 64, 64, 8]);
  expect((await read(traceId)).logCount).toBe(200);
});

const randomSpans = fc
  .array(
    fc.record({
      parent: fc.option(fc.nat(14), { nil: undefined }),
      startMs: fc.nat(50),
      attributes: fc.constantFrom<Attributes>(
        {},
        call(100),
        call(7),
        { ...call(9), "gen_ai.operation.name": "invoke_agent" },
        { "basalt.internal.api": true },
      ),
    }),
    { minLength: 1, maxLength: 14 },
  )
  .map((spans) => spans.map((span, id): TestSpan => ({ ...span, id, startMs: span.startMs * 100 + id })));

test("the tree and its sums are the same in any order of arrival, in any batches, however often spans come", async () => {
  await fc.assert(
    fc.asyncProperty(randomSpans, fc.infiniteStream(fc.nat(1_000)), async (spans, random) => {
      const [together, apart] = [newTraceId(), newTraceId()];
      await send(together, spans);
      const next = () => random.next().value!;
      const waiting = [...spans, ...spans.filter(() => next() % 3 === 0)];
      while (waiting.length > 0) {
        const batch = Array.from(
          { length: 1 + (next() % 4) },
          () => waiting.splice(next() % waiting.length || 0, 1)[0],
        );
        await send(
          apart,
          batch.filter((span) => span !== undefined),
        );
      }
      const [one, another] = [await read(together), await read(apart)];
      // The name of a trace without a root is that of whichever span came first.
      const comparable = (trace: object) => ({
        ...trace,
        externalId: "",
        ...(spans.some(({ parent }) => parent === undefined) ? {} : { name: "" }),
      });
      expect(comparable(another)).toEqual(comparable(one));
    }),
    { numRuns: 12 },
  );
}, 60_000);

test("an answer comes after all logs that a span changes are recounted, 250 in a transaction", async () => {
  const traceId = newTraceId();
  const chain = Array.from({ length: 700 }, (_, id) => ({
    id,
    ...(id > 0 && { parent: id - 1 }),
    attributes: call(100),
  }));
  await send(traceId, chain);
  const one = (await read(traceId)).cost;
  await addCopies(traceId, "span 699", 4_300); // 5,000 logs in all, with which a batch is still compared
  const transactions = vi.spyOn(EntityManager.prototype, "transactional");
  await send(traceId, [{ id: 10_000, parent: 698, attributes: call(100) }]); // now no call is around a single one
  expect(transactions.mock.calls.length).toBeGreaterThanOrEqual(3);
  transactions.mockRestore();
  const { cost } = await server.run(`{ trace(id: "${traceId}") { cost } }`);
  expect(Math.round(cost / one)).toBe(5_001);
}, 60_000);

test("an import recounts all that its spans change, too", async () => {
  const traceId = newTraceId();
  const chain = Array.from({ length: 600 }, (_, id) => ({
    id,
    ...(id > 0 && { parent: id - 1 }),
    attributes: call(100),
  }));
  await send(traceId, chain);
  const one = (await read(traceId)).cost;
  const more = { id: 10_000, parent: 598, attributes: call(100) }; // now no call is around a single one
  const spans = [...readFileSpans(JSON.stringify(bodyOf(traceId, [more])))].flatMap((each) =>
    "span" in each ? each.span : [],
  );
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  expect(await importSpans(context, spans, "real")).toEqual({ added: 1, changed: 0, unchanged: 0 });
  expect(Math.round((await read(traceId)).cost / one)).toBe(601);
}, 60_000);

test("others are served while the tree of many logs grows, not only while they are read", {
  tags: "slow",
  timeout: 60_000,
}, async () => {
  const traceId = newTraceId();
  await send(traceId, [{ id: 0, name: "one of many", attributes: call(100) }]);
  await addCopies(traceId, "one of many", 29_999);
  const turn = vi.spyOn(server.database, "turn");
  const now = performance.now.bind(performance);
  let lateMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + ++lateMs); // a fast machine would need no pause
  const { logCount } = await server.run(`{ trace(id: "${traceId}") { logCount } }`);
  clock.mockRestore();
  expect(logCount).toBe(30_000);
  expect(turn.mock.calls.length).toBeGreaterThan(70); // a page of 500 takes one
  turn.mockRestore();
});

/** Stores further logs that are like one of a trace, without ids of spans. */
async function addCopies(traceId: string, name: string, count: number) {
  const copied = await server.database.read
    .selectFrom("Log")
    .innerJoin("Trace", "Trace.id", "Log.trace")
    .selectAll("Log")
    .where("Trace.externalId", "=", traceId)
    .where("Log.name", "=", name)
    .executeTakeFirstOrThrow();
  await server.database.commit(
    Array.from({ length: count }, () => ["Log", { ...copied, id: uuidv7(), externalId: null }]),
  );
}

test("a batch is compared with 5,000 stored logs of all its traces together", async () => {
  const traceIds = [newTraceId(), newTraceId()];
  for (const traceId of traceIds) {
    await send(traceId, [
      { id: 0, attributes: call(100) },
      { id: 1, parent: 0, name: "to copy" },
    ]);
    await addCopies(traceId, "to copy", 2_498);
  }
  const sendTogether = async (id: number) => {
    const spans = traceIds.map((traceId) => toOtlp(traceId, { id, parent: 0, attributes: call(100) }));
    await server.post("/v1/traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });
  };
  const costs = () =>
    Promise.all(
      traceIds.map(async (id) => (await server.run(`{ trace(id: "${id}") { cost } }`)).cost as number),
    );
  const before = await costs();
  const stop = await captureStatements(server);
  await sendTogether(20_000); // the call of each trace is now around another one
  const pages = stop().filter(({ sql }) => /^select "id" as "id", "trace_id" as "trace", "type"/.test(sql));
  expect(pages.length).toBeGreaterThanOrEqual(10); // of 500 logs
  expect(await costs()).toEqual(before);
  await sendTogether(20_001);
  const ratios = (await costs()).map((cost, at) => Math.round(cost / before[at]!));
  expect(ratios.toSorted()).toEqual([2, 3]); // the call at the top of the other does not begin to count
});
