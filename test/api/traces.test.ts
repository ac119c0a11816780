import { afterAll, expect, test } from "vitest";
import { logPayloadColumns } from "../../src/logs/entities.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { clientTraces } from "../support/clientTraces.ts";
import { addPrompt, addWorkspace, model } from "../support/data.ts";
import { subscribe } from "../support/events.ts";
import { encodeSpans, JSON_TYPE, newSpan } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
for (const workspace of ["default", "other"])
  await addPrompt(server, {
    slug: "guide",
    workspace,
    versions: [{ version: "1.0.0", model: model("openai", "gpt-4o-mini") }],
    tags: { production: "1.0.0" },
  });

const FIELDS = `id externalId parentId depth missingParent name type status startTime offsetMs durationMs
  inputPreview outputPreview usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens reasoningTokens }
  cost costSource subtree { logs errors cost inputTokens outputTokens } input output attributes evaluators
  variables { label value } tag version`;
const TRACE = `query($id: ID!, $first: Int, $after: String, $types: [LogType!], $status: LogStatus) { trace(id: $id) {
  name featureSlug input output idealOutput metadata startTime endTime evaluators sampleRate experimentId
  experiment { name } complete logCount errorCount generationCount unpricedCount cost
  usage { inputTokens outputTokens } user { id } root { name }
  logs(first: $first, after: $after, types: $types, status: $status) { nodes { ${FIELDS} } pageInfo { hasNextPage endCursor } } } }`;

async function read(variables: object) {
  const { body } = await server.graphql(TRACE, { ...variables });
  expect(body.errors).toBeUndefined();
  return body.data.trace;
}

async function send(body: object, headers = {}) {
  const answer = await server.post("/monitor/trace", body, { headers });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const trace = await read({ id: answer.body.trace.id });
  return { ...answer.body, id: answer.body.trace.id, trace, logs: trace.logs.nodes };
}

const start = Date.UTC(2026, 2, 1, 10);
const at = (ms: number) => new Date(start + ms).toISOString();
const call = (id: string, more: object = {}) => ({
  ...{ id, type: "generation", name: id, input: "What?", output: "That.", prompt: { slug: "guide" } },
  ...{ inputTokens: 100, outputTokens: 10, startTime: at(0), endTime: at(500), ...more },
});
const span = (id: string, more: object = {}) => ({ id, type: "span", name: id, startTime: at(0), ...more });

test("a trace reads as a flat list in display order, with depths, offsets and sums of subtrees", async () => {
  const { logs, trace, warning } = await send({
    name: "plan",
    startTime: at(-100),
    logs: [
      call("c", { parentId: "b", startTime: at(300), endTime: at(800), cost: 0.5 }),
      span("a", { endTime: at(1_000) }),
      span("b", { parentId: "a", startTime: at(200) }),
      call("d", { parentId: "a", startTime: at(100), cost: 0.25 }),
    ],
  });
  expect(warning).toBe(null);
  const shape = logs.map((log: Record<string, unknown>) => [
    log.name,
    log.depth,
    log.offsetMs,
    log.durationMs,
  ]);
  expect(shape).toEqual([
    ["a", 0, 100, 1_000],
    ["d", 1, 200, 400],
    ["b", 1, 300, null],
    ["c", 2, 400, 500],
  ]);
  expect(logs[3].parentId).toBe(logs[2].id);
  expect(logs.map(({ subtree }: { subtree: object }) => subtree)).toEqual([
    { logs: 4, errors: 0, cost: 0.75, inputTokens: 200, outputTokens: 20 },
    { logs: 1, errors: 0, cost: 0.25, inputTokens: 100, outputTokens: 10 },
    { logs: 2, errors: 0, cost: 0.5, inputTokens: 100, outputTokens: 10 },
    { logs: 1, errors: 0, cost: 0.5, inputTokens: 100, outputTokens: 10 },
  ]);
  expect(trace).toMatchObject({
    ...{ complete: true, logCount: 4, errorCount: 0, generationCount: 2, unpricedCount: 0, cost: 0.75 },
    ...{ usage: { inputTokens: 200, outputTokens: 20 }, root: { name: "a" } },
  });
});

test("a trace is paged in display order, also when only some types are asked for", async () => {
  const logs = Array.from({ length: 25 }, (_, n) =>
    n % 2 ? call(`${n}`, { parentId: `${n - 1}` }) : span(`${n}`, { startTime: at(n) }),
  );
  const { id } = await send({ logs });
  for (const types of [undefined, ["GENERATION"]]) {
    const whole = (await read({ id, types })).logs.nodes;
    const paged = [];
    for (let after: string | undefined; ; ) {
      const { nodes, pageInfo } = (await read({ id, types, first: 4, after })).logs;
      paged.push(...nodes);
      if (!pageInfo.hasNextPage) break;
      after = pageInfo.endCursor;
    }
    expect(paged).toEqual(whole);
    expect(paged).toHaveLength(types ? 12 : 25);
  }
});

test("the cursor of a log that a trace does not have leads to nothing", async () => {
  const { id } = await send({ logs: [span("a"), span("b")] });
  const { logs: others } = await send({ logs: [span("c")] });
  const after = toCursor(others[0].id);
  expect((await read({ id, after })).logs).toEqual({
    nodes: [],
    pageInfo: { hasNextPage: false, endCursor: null },
  });
});

/** The columns of any length that the statements of an operation name. */
async function payloadsReadBy(operation: string): Promise<string[]> {
  const stop = await captureStatements(server);
  const { body } = await server.graphql(operation);
  const statements = stop().filter(({ sql }) => /from [`"](logs|traces)[`"]/.test(sql));
  expect(body.errors).toBeUndefined();
  expect(statements.length).toBeGreaterThan(0);
  const names = statements.flatMap(({ sql }) => [...sql.matchAll(/[`"](\w+)[`"]/g)].map(([, name]) => name!));
  const columns = [...logPayloadColumns].map((name) =>
    name.replaceAll(/[A-Z]/g, (at) => `_${at.toLowerCase()}`),
  );
  return columns.filter((name) => names.includes(name));
}

test("trees, lists and usage read no column of any length", async () => {
  const { id } = await send({ logs: [span("a"), call("b", { parentId: "a" })] });
  const fields = `id parentId depth missingParent name type status startTime offsetMs durationMs cost costSource
    usage { inputTokens outputTokens } subtree { logs errors cost inputTokens }`;
  for (const operation of [
    `{ trace(id: "${id}") { logCount cost complete logs { nodes { ${fields} } } } }`,
    `{ traces(first: 5) { nodes { id startTime durationMs logCount cost errorCount } } }`,
    `{ logs(first: 5) { nodes { ${fields} } } }`,
    `{ usage(from: "2026-01-01", to: "2027-01-01", groupBy: PROMPT) { nodes { key logs cost } } }`,
  ])
    expect(await payloadsReadBy(operation), operation).toEqual([]);
  expect(await payloadsReadBy(`{ trace(id: "${id}") { logs { nodes { output } } } }`)).toContain("output");
});

test("trees that are read together are whole, wherever the pages of their logs end", async () => {
  const sizes = [1_000, 1_000, 900, 900, 900];
  const ids: string[] = [];
  for (const size of sizes) {
    const logs = Array.from({ length: size }, (_, n) => span(`${n}`, n ? { parentId: "0" } : {}));
    const answer = await server.post("/monitor/trace", { logs });
    ids.push(answer.body.trace.id);
  }
  const all = ids.map((id, n) => `t${n}: trace(id: "${id}") { logCount root { subtree { logs } } }`);
  const { body } = await server.graphql(`{ ${all.join(" ")} }`);
  const found = sizes.map((_, n) => body.data[`t${n}`]);
  expect(found).toEqual(sizes.map((logs) => ({ logCount: logs, root: { subtree: { logs } } })));
});

test.each(Object.entries(clientTraces))(
  "what %s sends is stored, with the answer that it reads",
  async (_, sent) => {
    const { trace, logs } = await send(sent.body, sent.headers);
    expect(trace.sampleRate).toBe("evaluationConfig" in sent.body && sent.body.evaluationConfig ? 0.5 : null);
    expect(trace.complete).toBe(!JSON.stringify(sent.body).includes('"gone"'));
    expect(logs).toHaveLength((sent.body as { logs: unknown[] }).logs.length);
  },
);

test("forms of one client are read as what they can only mean, and the warning names them", async () => {
  const { trace, logs, warning } = await send(clientTraces["n8n 0.4.0"]!.body);
  expect(trace).toMatchObject({
    metadata: { a: 1 },
    startTime: "2025-11-22T08:26:40.000Z",
    featureSlug: null,
  });
  expect(logs[0]).toMatchObject({
    ...{ version: "1.0.0", tag: "production", evaluators: ["tone"] },
    variables: [{ label: "name", value: "Amina" }],
  });
  for (const path of ["startTime", "metadata", "logs.0.prompt", "logs.0.variables", "logs.0.evaluators"])
    expect(warning).toContain(`${path} is `);
});

test("the cost 0 that one client sends for an unknown one is computed; of others it is the cost", async () => {
  const { headers, body } = clientTraces["JavaScript 0.1.4"]!;
  expect((await send(body, headers)).logs[0]).toMatchObject({ costSource: "COMPUTED", cost: 0.00000495 });
  expect((await send(body)).logs[0]).toMatchObject({ costSource: "REPORTED", cost: 0 });
});

test("what n8n sends for a field that was left alone counts as absent, and no warning names it", async () => {
  const { logs, warning } = await send(clientTraces["n8n 0.4.0, most fields left alone"]!.body);
  const unset = { variables: null, evaluators: null };
  expect(logs).toMatchObject([
    { ...unset, name: "outer", tag: null, costSource: "NONE" },
    { ...unset, name: "guide", tag: "production", costSource: "COMPUTED" },
  ]);
  expect(logs[1].usage.outputTokens).toBeGreaterThan(0);
  expect(warning).toBe("logs.1.prompt is wrapped in promptValues; what is inside was read.");
});

test("a call without reported tokens is counted and priced as in POST /monitor/log", async () => {
  const single = { input: "What is the capital?", output: "Nairobi." };
  const logged = await server.post("/monitor/log", { slug: "guide", ...single });
  const log = await server.run(`query($id: ID!) { log(id: $id) { ${FIELDS} } }`, {
    id: logged.body.log.id,
  });
  const { logs } = await send({
    logs: [{ id: "1", type: "generation", prompt: { slug: "guide" }, ...single }],
  });
  expect(logs[0].usage).toEqual(log.usage);
  expect(logs[0].cost).toBe(log.cost);
  expect(log.usage.inputTokens).toBeGreaterThan(0);
});

/** A trace, and spans, whose calls name a version of a prompt. */
const waysToName: [path: string, bodyOf: (slug: string, calls: number) => object][] = [
  [
    "/monitor/trace",
    (slug, calls) => ({
      logs: Array.from({ length: calls }, (_, n) => call(`${n}`, { prompt: { slug, version: "1" } })),
    }),
  ],
  [
    "/v1/traces",
    (slug, calls) => {
      const attributes = Object.entries({ slug, version: "1" }).map(([name, stringValue]) => ({
        key: `basalt.prompt.${name}`,
        value: { stringValue },
      }));
      const spans = Array.from({ length: calls }, () => newSpan({ attributes }));
      return JSON.parse(encodeSpans(spans, JSON_TYPE).toString());
    },
  ],
];

test.each(waysToName)("POST %s reads a version once that many of its calls name", async (path, bodyOf) => {
  const readsFor = async (calls: number): Promise<number> => {
    const slug = `named${path.replaceAll("/", "-")}-${calls}`;
    await addPrompt(server, { slug, versions: [{ version: "1", model: model(null, "m") }] });
    const stop = await captureStatements(server);
    expect((await server.post(path, bodyOf(slug, calls))).status).toBe(200);
    return stop().filter(({ sql }) => /from [`"]prompt_versions[`"]/.test(sql)).length;
  };
  const reads = await readsFor(1);
  expect(reads).toBeGreaterThan(0);
  expect(await readsFor(50)).toBe(reads);
});

test("usage counts a call inside another one with the same numbers once, and steps that are no calls never", async () => {
  const { trace, logs } = await send({
    logs: [
      call("outer", { cost: 1 }),
      call("inner", { parentId: "outer", cost: 1, startTime: at(1) }),
      span("agent", { startTime: at(2), inputTokens: 100, outputTokens: 10, cost: 1 }),
      call("child", { parentId: "agent", cost: 1, startTime: at(3) }),
      span("alone", { startTime: at(4), inputTokens: 7, outputTokens: 1, cost: 0.5 }),
    ],
  });
  const sources = logs.map(({ name, costSource }: Record<string, string>) => [name, costSource]);
  expect(sources).toEqual([
    ["outer", "NONE"],
    ["inner", "REPORTED"],
    ["agent", "NONE"],
    ["child", "REPORTED"],
    ["alone", "REPORTED"],
  ]);
  expect(trace).toMatchObject({ cost: 2.5, usage: { inputTokens: 207, outputTokens: 21 } });
});

test("what a step reported is kept, although the calls below it count", async () => {
  const body = { logs: [span("agent", { inputTokens: 3, cost: 1 }), call("child", { parentId: "agent" })] };
  const { logs } = await send(body);
  const query = "query($id: ID!) { log(id: $id) { cost reportedUsage { inputTokens outputTokens } } }";
  expect(await server.run(query, { id: logs[0].id })).toEqual({
    cost: null,
    reportedUsage: { inputTokens: 3, outputTokens: null },
  });
});

test("an end before its start is kept, with a warning", async () => {
  const { trace, logs, warning } = await send({
    startTime: at(5),
    endTime: at(0),
    logs: [span("a", { endTime: at(-5) })],
  });
  expect([trace.startTime, trace.endTime, logs[0].durationMs]).toEqual([at(5), at(0), null]);
  expect(warning).toBe(
    "endTime is before startTime; both were kept. logs.0.endTime is before startTime; both were kept.",
  );
});

test("a trace without times takes those of its logs; an empty trace begins when it arrives", async () => {
  const { trace } = await send({ logs: [span("a", { endTime: at(9) }), span("b", { startTime: at(-3) })] });
  expect([trace.startTime, trace.endTime]).toEqual([at(-3), at(9)]);
  const empty = await send({});
  expect(Date.now() - Date.parse(empty.trace.startTime)).toBeLessThan(60_000);
  expect(empty.trace).toMatchObject({ name: "trace", logCount: 0, complete: true, root: null });
});

test("an experiment is created, read back from its traces, and its absence is a warning", async () => {
  const { status, body } = await server.post("/monitor/experiments", {
    featureSlug: "Any Feature",
    name: "shorter",
  });
  expect({ status, ...body }).toEqual({
    ...{ status: 200, id: expect.any(String), name: "shorter", featureSlug: "Any Feature" },
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  });
  const known = await send({ experiment: { id: body.id } });
  expect(known.trace.experiment).toEqual({ name: "shorter" });
  expect(known.warning).toBe(null);
  const foreign = await server.post(
    "/monitor/trace",
    { experiment: { id: body.id } },
    { token: other.token },
  );
  expect(foreign.body.warning).toBe("The experiment does not exist; its id was kept.");
  expect((await send({ experiment: { id: "exp-1" } })).trace).toMatchObject({
    experimentId: "exp-1",
    experiment: null,
  });
});

test.each([
  ["a log without an id", { logs: [{ type: "span" }] }, "logs.0.id"],
  ["a log of an unknown type", { logs: [{ id: "1", type: "internal" }] }, "logs.0.type"],
  ["too many logs", { logs: Array(10_001).fill({}) }, "logs"],
  ["a negative cost", { logs: [call("1", { cost: -1 })] }, "logs.0.cost"],
  ["metadata that is no object", { metadata: "text" }, "metadata"],
  ["an impossible time", { startTime: "yesterday" }, "startTime"],
])("%s is refused, naming it, and nothing is stored", async (_, body, path) => {
  const count = async () => (await server.run("{ traces(first: 100) { nodes { id } } }")).length;
  const before = await count();
  const answer = await server.post("/monitor/trace", { name: "refused", ...body });
  expect(answer.status).toBe(400);
  expect(answer.body.details[0].path).toBe(path);
  expect(await count()).toBe(before);
});

test("REST and GraphQL store the same trace", async () => {
  const logs = [span("a", { evaluators: [{ slug: "tone" }] }), call("b", { parentId: "a" })];
  const body = {
    name: "same",
    featureSlug: "trips",
    input: { q: 1 },
    metadata: { a: 1 },
    user: { id: "u" },
    logs,
  };
  const mutation = "mutation($input: LogTraceInput!) { logTrace(input: $input) { trace { id } warning } }";
  const input = { ...body, logs: logs.map((log) => ({ ...log, type: log.type.toUpperCase() })) };
  const logTrace = await server.run(mutation, { input });
  const ids = /"[0-9a-f]{8}-[0-9a-f-]{27}"/g;
  const withoutIds = (trace: object) =>
    JSON.stringify(trace)
      .replaceAll(ids, '"id"')
      .replace(/"endCursor":"[^"]+"/, "");
  const byGraphql = await read({ id: logTrace.trace.id });
  expect(withoutIds(byGraphql)).toBe(withoutIds((await send(body)).trace));
});

test("the logs of a trace are found by its user and by its organization", async () => {
  const parties = { user: { id: "u-found" }, organization: { id: "o-found" } };
  await send({ featureSlug: "f", ...parties, logs: [{ id: "step", type: "span", name: "step" }] });
  const listed = "query($f: LogFilter) { logs(filter: $f) { nodes { name } } }";
  for (const filter of [{ userId: ["u-found"] }, { organizationId: ["o-found"] }])
    expect(await server.run(listed, { f: filter })).toEqual([{ name: "step" }]);
});

test("a token of another workspace sees neither the trace nor its logs", async () => {
  const { id, logs } = await send({ logs: [span("a")] });
  const asked = "query($id: ID!, $log: ID!) { node(id: $log) { id } trace(id: $id) { id } }";
  const { body } = await server.graphql(asked, { id, log: logs[0].id }, { token: other.token });
  expect(body.data).toEqual({ node: null, trace: null });
  expect(body.errors[0].extensions.code).toBe("TRACE_NOT_FOUND");
});

test("traceChanged sends the logs that are added to a trace, and none of another trace", async () => {
  const { id } = await send({ logs: [span("a")] });
  await using events = await subscribe(server, "subscription($id: ID!) { traceChanged(id: $id) { name } }", {
    id,
  });
  await send({ logs: [span("elsewhere")] });
  const { workspaces } = await server.database.read
    .selectFrom("Trace")
    .select(["workspace as workspaces"])
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const { logs } = await send({ logs: [span("b")] });
  server.database.pubSub.publish(workspaces, { id: logs[0].id, traceId: id, promptSlug: "" });
  expect(await events.next()).toEqual({ data: { traceChanged: { name: "b" } } });
});

test("a list of traces has each once, also over pages, whatever filter its logs meet", async () => {
  await using own = await startServer();
  for (let n = 0; n < 30; n++) {
    const logs = Array.from({ length: n % 7 }, (_, k) =>
      k % 2
        ? { id: `${k}`, type: "tool", startTime: at(n * 10 + k * 40), input: `word${k}`, metadata: { k } }
        : { id: `${k}`, type: "span", startTime: at(n * 10 + k * 40) },
    );
    await own.post("/monitor/trace", { name: `t${n}`, startTime: at(n * 10), logs });
  }
  const query =
    "query($f: LogFilter, $n: Int, $a: String) { traces(filter: $f, first: $n, after: $a) { nodes { name } pageInfo { hasNextPage endCursor } } }";
  for (const [f, count] of [
    [null, 30],
    [{ type: "TOOL" }, 21],
    [{ text: "word3" }, 10],
    [{ metadata: [{ key: "k", value: 5 }] }, 4],
    [{ from: at(100), type: "SPAN" }, 22],
    [{ type: ["TOOL", "SPAN"], to: at(120) }, 12],
  ] as const) {
    const names: string[] = [];
    for (let a: string | undefined; ; ) {
      const { nodes, pageInfo } = await own.run(query, { f, n: 3, a });
      names.push(...nodes.map(({ name }: { name: string }) => name));
      if (!pageInfo.hasNextPage) break;
      a = pageInfo.endCursor;
    }
    const whole = (await own.run(query, { f, n: 100 })).nodes.map(({ name }: { name: string }) => name);
    expect(names, JSON.stringify(f)).toEqual(whole);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length, JSON.stringify(f)).toBeGreaterThanOrEqual(Math.min(count, 4));
  }
});

test.each([
  ["/monitor/trace", "resourceSpans", "/v1/traces"],
  ["/monitor/log", "resourceLogs", "/v1/logs"],
])("%s refuses OpenTelemetry's %s and says where they belong", async (path, member, right) => {
  const { status, body } = await server.post(path, { [member]: [], slug: "otlp" });
  expect({ status, code: body.code }).toEqual({ status: 400, code: "BAD_INPUT" });
  expect(JSON.stringify(body)).toContain(`post it to ${right}`);
});
