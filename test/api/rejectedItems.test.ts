import { afterAll, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { removeOldRejected, storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { newToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addDataset, addToken, addWorkspace } from "../support/data.ts";
import { encodeSpans, newSpan } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { type Server, startServer } from "../support/server.ts";

const METRICS_TOKEN = "a-token-for-the-metrics-of-rejections";
const lines: string[] = [];
const server = await startServer({ metricsToken: METRICS_TOKEN, log: (line) => lines.push(line) });
afterAll(() => server[Symbol.asyncDispose]());
await addDataset(server, { slug: "quiz", columns: [{ name: "q", type: "text" }] });
const reader = await addToken(server, { scopes: ["read"] });

const LIST = "{ rejectedItems { nodes { id createdAt endpoint client code reason sample count } } }";
const WAIT = { timeout: 30_000, interval: 50 };

type Item = Record<"id" | "createdAt" | "endpoint" | "code" | "reason", string> & {
  client: string | null;
  sample: string | null;
  count: number;
};

/** The items of a workspace, as soon as there is one that `isWanted`. */
async function itemsWith(
  isWanted: (item: Item) => boolean,
  to: Server = server,
  token?: string,
): Promise<Item[]> {
  return vi.waitFor(async () => {
    await storeRejected(to.database); // rather than wait for the next time that it is due
    const items: Item[] = await to.run(LIST, {}, token);
    expect(items.filter(isWanted).length).toBeGreaterThan(0);
    return items;
  }, WAIT);
}

/** The item of requests of a client that nothing else in these tests is. */
async function itemOf(client: string): Promise<Item> {
  const items = await itemsWith((item) => item.client === client);
  const [item, ...others] = items.filter((one) => one.client === client);
  expect(others).toEqual([]);
  return item!;
}

const json = { "content-type": "application/json" };

test.each([
  ["POST /monitor/log", "BAD_INPUT", "/monitor/log", { slug: 7 }, {}],
  ["POST /monitor/log", "BAD_JSON", "/monitor/log", '{"slug": ', {}],
  ["POST /monitor/log", "FORBIDDEN", "/monitor/log", { slug: "a", output: "b" }, { token: reader.token }],
  ["POST /monitor/trace", "BAD_INPUT", "/monitor/trace", { logs: 1 }, {}],
  ["POST /monitor/experiments", "BAD_INPUT", "/monitor/experiments", {}, {}],
  ["POST /datasets/:slug/items", "DATASET_NOT_FOUND", "/datasets/none/items", { values: {} }, {}],
  ["POST /datasets/:slug/items", "BAD_INPUT", "/datasets/quiz/items", { values: 1 }, {}],
  ["POST /monitor/logs", "ROUTE_NOT_FOUND", "/monitor/logs?key=value", { slug: "a" }, {}],
])(
  "what %s rejects as %s is listed with its reason and its sample",
  async (endpoint, code, path, body, call) => {
    const client = `${endpoint} ${code}`;
    const { status, body: answer } = await server.post(path, body, {
      ...call,
      headers: { "user-agent": client },
    });
    expect(status).toBeGreaterThanOrEqual(400);
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    const isUnread = code === "ROUTE_NOT_FOUND";
    expect(await itemOf(client)).toEqual({
      ...{ id: expect.any(String), createdAt: expect.any(String), endpoint, client, code, count: 1 },
      ...{ reason: answer.error, sample: isUnread ? null : sent },
    });
  },
);

test("a body that is refused unread has no sample", async () => {
  const headers = { ...json, "user-agent": "form", "content-type": "text/plain" };
  expect((await server.post("/monitor/log", "slug=a", { headers })).status).toBe(415);
  expect(await itemOf("form")).toMatchObject({ code: "UNSUPPORTED_MEDIA_TYPE", sample: null });
});

test("requests that succeed, reads and GraphQL leave nothing", async () => {
  const headers = { "user-agent": "fine" };
  expect((await server.post("/monitor/log", { slug: "a", output: "b" }, { headers })).status).toBe(200);
  expect((await server.get("/prompts/none", { headers })).status).toBe(404);
  await server.graphql('mutation { deletePrompt(slug: "none") { deletedPromptId } }', {}, { headers });
  await server.post("/monitor/log", {}, { headers: { "user-agent": "behind fine" } });
  const items = await itemsWith(({ client }) => client === "behind fine");
  expect(items.filter(({ client }) => client === "fine")).toEqual([]);
});

test("a Basalt SDK is named with its version, and other clients by the first 200 characters they say", async () => {
  const sdk = { "x-basalt-sdk-type": "nodejs", "x-basalt-sdk-version": "0.3.1", "user-agent": "undici" };
  await server.post("/monitor/trace", { logs: "sdk" }, { headers: sdk });
  expect((await itemOf("Basalt SDK nodejs 0.3.1")).code).toBe("BAD_INPUT");
  await server.post("/monitor/trace", { logs: "long" }, { headers: { "user-agent": "l".repeat(300) } });
  expect((await itemOf("l".repeat(200))).code).toBe("BAD_INPUT");
});

test("equal ones within a minute are one item with a count, also when the first is stored already", async () => {
  const send = () => server.post("/monitor/log", {}, { headers: { "user-agent": "again" } });
  await send();
  await send();
  const first = await itemOf("again");
  await send();
  const counted = await itemsWith(({ client, count }) => client === "again" && count === 3);
  expect(counted.filter(({ client }) => client === "again")).toEqual([{ ...first, count: 3 }]);
});

test("another reason is another item, the newest first", async () => {
  for (const slug of ["x", "y"])
    await server.post(`/datasets/${slug}/items`, { values: {} }, { headers: { "user-agent": "two" } });
  const items = await itemsWith(({ client, reason }) => client === "two" && reason.includes('"y"'));
  const reasons = items.filter(({ client }) => client === "two").map(({ reason }) => reason);
  expect(reasons).toEqual(["y", "x"].map((slug) => expect.stringContaining(`"${slug}"`)));
});

test("a sample is the first 500 characters, whole ones, and a NUL is none of them", async () => {
  const text = `{"slug": 1, "input": "\0${"🦓".repeat(10_000)}"}`;
  await server.post("/monitor/log", text, { headers: { "user-agent": "zebra" } });
  const { sample } = await itemOf("zebra");
  expect(sample).toHaveLength(500);
  expect(sample!.isWellFormed()).toBe(true);
  expect(sample!.startsWith('{"slug": 1, "input": "\ufffd🦓🦓')).toBe(true);
});

test("neither the token of the request nor any other is in an item or in the log", async () => {
  const made = `gab_${"7".repeat(49)}`;
  const body = { slug: 1, input: `${server.token} ${made}`, output: "kanarienvogel" };
  const headers = { "user-agent": `tokens ${server.token}` };
  await server.post("/monitor/log", body, { headers });
  await server.post(`/datasets/${made}/items`, { values: {} }, { headers });
  await server.post(`/monitor/${server.token}`, {}, { headers });
  const items = await itemsWith(({ endpoint }) => /^POST \/monitor\/\*+$/.test(endpoint));
  const mine = items.filter(({ client }) => /^tokens \*+$/.test(client ?? ""));
  expect(mine).toHaveLength(3);
  for (const text of [JSON.stringify(items), lines.join("")])
    for (const secret of [server.token, made, server.token.slice(4, 30)]) expect(text).not.toContain(secret);
  expect(mine.some(({ sample }) => sample?.includes("kanarienvogel"))).toBe(true);
  expect(lines.join("")).not.toContain("kanarienvogel");
});

test("nor is a token that somebody chose, also when the body is cut within it", async () => {
  const chosen = "a-token-that-somebody-chose-0123456789";
  const workspace = await getWorkspaceId(server.database, "default");
  const { row } = newToken(workspace, { name: "chosen", scopes: ["write"], expiresAt: null }, chosen);
  await server.database.commit([["AccessToken", row]]);
  const body = `{"slug": 1, "input": "${chosen} ${"x".repeat(430)}${chosen}"}`;
  await server.post("/monitor/log", body, { token: chosen, headers: { "user-agent": "chooser" } });
  const { sample } = await itemOf("chooser");
  expect(sample).toHaveLength(500);
  expect(sample).toMatch(/^\{"slug": 1, "input": "\*{38} x{430}\*+$/);
});

test("a request without a valid token is in no workspace, and is counted in the metrics", async () => {
  const metrics = async () =>
    String((await server.get("/metrics", { token: METRICS_TOKEN })).body)
      .split("\n")
      .filter((line) => line.startsWith("gabbro_rejected_total"));
  const count = async (labels: string) =>
    Number(
      (await metrics())
        .find((line) => line.includes(labels))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  const unknown = { token: "unknown", headers: { "user-agent": "stranger" } };
  const before = await count('{endpoint="POST /monitor/log",code="UNAUTHENTICATED"}');
  expect((await server.post("/monitor/log", {}, unknown)).status).toBe(401);
  expect((await server.post("/nothing/at/all", {}, unknown)).status).toBe(404);
  await server.post("/monitor/log", {}, { headers: { "user-agent": "known" } });
  const items = await itemsWith(({ client }) => client === "known");
  expect(items.filter(({ client }) => client === "stranger")).toEqual([]);
  expect(await count('{endpoint="POST /monitor/log",code="UNAUTHENTICATED"}')).toBe(before + 1);
  expect(await count('{endpoint="(none)",code="ROUTE_NOT_FOUND"}')).toBeGreaterThan(0);
  expect((await metrics()).filter((line) => line.includes("nothing"))).toEqual([]);
});

test("another workspace sees none, and a token without the scope read neither", async () => {
  const other = await addWorkspace(server, "other");
  await server.post("/monitor/log", {}, { headers: { "user-agent": "private" } });
  const { id } = await itemOf("private");
  await server.post("/monitor/log", {}, { token: other.token, headers: { "user-agent": "theirs" } });
  const theirs = await itemsWith(() => true, server, other.token);
  expect(theirs.map(({ client }) => client)).toEqual(["theirs"]);
  expect(await server.run("query ($id: ID!) { node(id: $id) { id } }", { id }, other.token)).toBeNull();
  const writer = await addToken(server, { scopes: ["write"] });
  expect(await server.run(LIST, {}, writer.token)).toMatchObject({ error: { code: "FORBIDDEN" } });
});

test("what was rejected just before the service closes is stored", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", {}, { headers: { "user-agent": "last words" } });
  await own.app.close();
  const database = await openDatabase(own.databaseUrl, entities, { poolSize: 2 });
  const clients = await database.read.selectFrom("RejectedItem").select("client").execute();
  await database.close();
  expect(clients).toEqual([{ client: "last words" }]);
});

test("what was rejected is listed soon", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", {});
  await vi.waitFor(async () => expect(await own.run(LIST)).toHaveLength(1), WAIT);
});

test("items are removed after 7 days", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", {});
  await itemsWith(() => true, own);
  const workspace = await getWorkspaceId(own.database, "default");
  const [item] = (await own.run(LIST)) as Item[];
  const days = (count: number) => new Date(Date.now() - count * 24 * 60 * 60 * 1_000);
  for (const [id, age] of [
    ["01900000-0000-7000-8000-000000000001", 7.01],
    ["01900000-0000-7000-8000-000000000002", 6.99],
  ] as const)
    await own.database.commit([["RejectedItem", { ...item!, id, workspace, createdAt: days(age) }]]);
  await removeOldRejected(own.database, new AbortController().signal);
  const ids = ((await own.run(LIST)) as Item[]).map(({ id }) => id);
  expect(ids).toEqual([item!.id, "01900000-0000-7000-8000-000000000002"]);
});

test("an item that was removed meanwhile comes back when an equal one follows, and storing nothing does nothing", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", {});
  const [{ id }] = (await itemsWith(() => true, own)) as [Item];
  await own.database.write.deleteFrom("RejectedItem").where("id", "=", id).execute();
  await storeRejected(own.database);
  expect(await own.run(LIST)).toEqual([]);
  await own.post("/monitor/log", {});
  expect(await itemsWith(() => true, own)).toMatchObject([{ id, count: 2 }]);
});

test("spans that are rejected in part are listed with their number, as exporters log nothing of them", async () => {
  const ids = { traceId: "0".repeat(32), spanId: "0".repeat(16) };
  const spans = [1, 2].map(() => ({ ...ids, name: "no ids", startTimeUnixNano: "1772359200000000000" }));
  const body = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
  const answer = await server.post("/v1/traces", body, { headers: { "user-agent": "an-exporter/1" } });
  expect([answer.status, answer.body.partialSuccess.rejectedSpans]).toEqual([200, 2]);
  expect(await itemOf("an-exporter/1")).toMatchObject({
    ...{ endpoint: "POST /v1/traces", code: "PARTLY_REJECTED", count: 2, sample: null },
    reason: "Rejected because a span has a trace id of zeros.",
  });
});

const DAY_MS = 86_400_000;
const noIds = { startTimeUnixNano: "1772359200000000000" };
test.each([
  ["/v1/metrics", (n: number) => ({ resourceMetrics: [{ scopeMetrics: [{ metrics: metricsOf(n) }] }] })],
  ["/v1/logs", (n: number) => ({ resourceLogs: [{ scopeLogs: [{ logRecords: Array(n).fill({}) }] }] })],
  ["/v1/traces", (n: number) => ({ resourceSpans: [{ scopeSpans: [{ spans: Array(n).fill(noIds) }] }] })],
])(
  "what %s rejects in part minute by minute is one item a day, so that it displaces no others",
  async (path, bodyOf) => {
    await using own = await startServer();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() - 3 * DAY_MS); // not into the future: ids of other tests in this process would follow
    try {
      const send = async (n: number) => {
        const { body } = await own.post(path, bodyOf(n), { headers: { "user-agent": "regular" } });
        expect(Object.values(body.partialSuccess)).toContain(n);
        vi.setSystemTime(Date.now() + 23 * 60 * 60_000);
      };
      for (const n of [2, 3]) await send(n);
      await storeRejected(own.database);
      expect(await own.run(LIST)).toMatchObject([{ code: "PARTLY_REJECTED", count: 5 }]);
      await send(1); // 46 hours after the first
      await storeRejected(own.database);
      expect(await own.run(LIST)).toMatchObject([{ count: 1 }, { count: 5 }]);
    } finally {
      vi.useRealTimers();
    }
  },
);

const metricsOf = (points: number) => [{ gauge: { dataPoints: Array(points).fill({}) } }];

test("calls by gRPC that are refused are listed with their client, as requests by HTTP are", async () => {
  using grpc = await connectGrpc(server);
  const headers = { "x-basalt-sdk-type": "nodejs", "x-basalt-sdk-version": "grpc" };
  const spans = encodeSpans([newSpan()]);
  const damaged = await grpc.send(spans.subarray(0, -3), { headers });
  const forbidden = await grpc.send(spans, { headers, token: reader.token });
  const client = "Basalt SDK nodejs grpc";
  const items = await itemsWith((item) => item.client === client);
  const endpoint = "opentelemetry.proto.collector.trace.v1.TraceService (gRPC)";
  expect(items.filter((item) => item.client === client)).toMatchObject([
    { endpoint, code: "FORBIDDEN", reason: forbidden.details, sample: null, count: 1 },
    { endpoint, code: "BAD_REQUEST", reason: damaged.details, sample: null, count: 1 },
  ]);
});
