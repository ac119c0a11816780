import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { writeQueueOf } from "../../src/database/writeQueue.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addWorkspace } from "../support/data.ts";
import { subscribe } from "../support/events.ts";
import { removeWhileStored } from "../support/logs.ts";
import { encodeSpans, newSpan, send, TYPES } from "../support/otlp.ts";
import { encode } from "../support/otlpProto.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

const MB = 1024 * 1024;
const GZIP = { "content-encoding": "gzip" };

/** A span whose attribute makes its request as long as `bytes`. */
const spanOf = (bytes: number) =>
  newSpan({ attributes: [{ key: "text", value: { stringValue: "x".repeat(bytes) } }] });

test("a workspace whose bodies take the memory is refused with Retry-After, and another one is not", async () => {
  await using server = await startServer({ limits: { maxKeptBytes: 2 * MB } });
  const other = await addWorkspace(server, "other");
  for (const type of TYPES) {
    const headers = { "content-type": type };
    const large = await send(server, encodeSpans([spanOf(3 * MB)], type), { type });
    expect(large).toMatchObject({ status: 503, answer: { code: 14 } });
    expect(large.headers.get("retry-after")).toBe("1");
    const packed = gzipSync(encodeSpans([spanOf(3 * MB)], type));
    expect(await send(server, packed, { type, headers: { ...headers, ...GZIP } })).toMatchObject({
      status: 503,
    });
    const authorization = `Bearer ${other.token}`;
    const body = encodeSpans([spanOf(MB / 2)], type);
    expect(await send(server, body, { type, authorization })).toMatchObject({ status: 200 });
  }
});

test.each(TYPES)("load shedding refuses a request of %s with Retry-After and a Status", async (type) => {
  await using server = await startServer({ limits: { maxInFlight: 0 } });
  const { status, headers, answer } = await send(server, encodeSpans([newSpan()], type), { type });
  expect({ status, retry: headers.get("retry-after"), type: headers.get("content-type") }).toEqual({
    status: 503,
    retry: "1",
    type,
  });
  expect(answer).toMatchObject({ code: 14, message: expect.stringContaining("overloaded") });
});

test("spans and long traces of four requests of a workspace are in memory, and those of others wait for no place of it", async () => {
  await using server = await startServer();
  const other = await addWorkspace(server, "other");
  const queue = writeQueueOf(server.database.orm.em)!;
  const release = await queue.acquire(await getWorkspaceId(server.database, "default"));
  const body = encodeSpans([newSpan()], "application/x-protobuf");
  const show = (token: string) =>
    server.app.inject({
      ...{ method: "POST", url: "/v1/traces?dryRun=1", payload: body },
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-protobuf" },
    });
  const logs = Array.from({ length: 101 }, (_, n) => ({
    id: `${n}`,
    type: "span",
    output: "x".repeat(2_000),
  }));
  const stored = [
    ...Array.from({ length: 3 }, () => send(server, body, { type: "application/x-protobuf" })),
    ...Array.from({ length: 3 }, () => server.post("/monitor/trace", { logs })),
  ];
  await expect.poll(() => queue.waiting()).toBe(4);
  const onShown = vi.fn();
  const shown = show(server.token).then(onShown);
  expect((await show(other.token)).statusCode).toBe(200);
  expect(queue.waiting()).toBe(4);
  expect(onShown).not.toHaveBeenCalled();
  release();
  for (const { status } of await Promise.all(stored)) expect(status).toBe(200);
  await shown;
  expect(onShown).toHaveBeenCalledWith(expect.objectContaining({ statusCode: 200 }));
});

test("a token that exceeds its rate is answered 429 with Retry-After and a Status", async () => {
  await using server = await startServer({ rateLimits: { perToken: 1, perAddress: null } });
  await send(server, encodeSpans([newSpan()]));
  const { status, headers, answer } = await send(server, encodeSpans([newSpan()]));
  expect({ status, code: answer.code }).toEqual({ status: 429, code: 14 });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
});

test("a request that takes too long is answered 503 with a Status", async () => {
  await using server = await startServer({ timeLimitMs: 1 });
  const spans = Array.from({ length: 10_000 }, () => newSpan());
  const { status, headers, answer } = await send(
    server,
    encode("TraceRequest", { resourceSpans: [{ scopeSpans: [{ spans }] }] }),
  );
  expect({ status, code: answer.code, retry: headers.get("retry-after") }).toEqual({
    status: 503,
    code: 14,
    retry: "1",
  });
});

test("a resource of 64 kB stays with the first span of its trace, and its copies take 4 MB of a request", async () => {
  await using server = await startServer();
  const spanCount = 200;
  const attributes = [{ key: "host", value: { stringValue: "h".repeat(60_000) } }];
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  const spanIn = (traceId: string, at: number) => ({
    ...{ traceId, spanId: hex(at + 1, 16), name: `span ${at}`, startTimeUnixNano: "1763800000000000000" },
  });
  const post = (spans: object[]) =>
    server.post("/v1/traces", {
      // The scopes have the same resource, but are read by themselves.
      resourceSpans: [{ resource: { attributes }, scopeSpans: spans.map((span) => ({ spans: [span] })) }],
    });
  const resources = async (traceIds: string[]) => {
    const ofTraces = await Promise.all(
      traceIds.map((id) =>
        server.run(`{ trace(id: "${id}") { logs(first: 200) { nodes { attributes } } } }`),
      ),
    );
    const attributesOf = ofTraces.flatMap(({ logs }) => logs.flatMap((log: object) => Object.values(log)));
    return attributesOf.filter((one) => one !== null).length;
  };
  const together = hex(1, 32);
  const { body } = await post(Array.from({ length: spanCount }, (_, at) => spanIn(together, at)));
  expect(body.partialSuccess.errorMessage).toContain(
    "span 1: has a resource of more than 4 kB, which is stored with another span of the request (and 198 more)",
  );
  expect(await resources([together])).toBe(1);
  const apart = Array.from({ length: spanCount }, (_, at) => hex(at + 2, 32));
  await post(apart.map((traceId) => spanIn(traceId, 0)));
  expect(await resources(apart)).toBe(1 + Math.floor((4 * MB) / 60_011));
});

test("a resource of 4 kB stays with each span", async () => {
  await using server = await startServer();
  const attributes = [{ key: "host", value: { stringValue: "h".repeat(4 * 1024 - '{"host":""}'.length) } }];
  const traceId = "00000000000000000000000000000001";
  const spans = ["0000000000000001", "0000000000000002"].map((spanId) => ({
    ...{ traceId, spanId, name: "chat", startTimeUnixNano: "1763800000000000000" },
  }));
  const { body } = await server.post("/v1/traces", {
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }],
  });
  expect(body).toEqual({});
  const { logs } = await server.run(`{ trace(id: "${traceId}") { logs { nodes { attributes } } } }`);
  const resource = { host: expect.stringMatching(/^h+$/) };
  expect(logs).toEqual([{ attributes: { resource } }, { attributes: { resource } }]);
});

test("512 spans are stored in a transaction, on SQLite those of 100 traces, and the rest in further ones", async () => {
  await using server = await startServer();
  const { generation } = server.database;
  const commits = () => Number(generation.heard().split(" ")[0]);
  await send(server, encodeSpans([newSpan()]));
  const spansOf = (count: number, traces: number) => {
    const traceIds = Array.from({ length: traces }, () => randomBytes(16));
    return encodeSpans(Array.from({ length: count }, (_, n) => newSpan({ traceId: traceIds[n % traces]! })));
  };
  let before = commits();
  await send(server, spansOf(2 * 512 + 1, 64));
  expect(commits() - before).toBe(3);
  before = commits();
  await send(server, spansOf(250, 250));
  expect(commits() - before).toBe(isOnPostgresql ? 1 : 3);
  before = commits();
  const text = { key: "text", value: { stringValue: "x".repeat(0.375 * MB) } };
  await send(server, encodeSpans(Array.from({ length: 9 }, () => newSpan({ attributes: [text] }))));
  expect(commits() - before).toBe(5); // of more than 512 kB each
});

test("a log counts 320 bytes where its trace is needed as a tree", async () => {
  await using server = await startServer();
  const traceId = Buffer.from("5b8efff798038103d269b633813fc60c", "hex");
  const add = (count: number) =>
    send(server, encodeSpans(Array.from({ length: count }, () => newSpan({ traceId }))));
  await add(3_200);
  const query = `subscription { traceChanged(id: "${traceId.toString("hex")}") { trace { logCount } } }`;
  await using events = await subscribe(server, query);
  await expect.poll(() => server.database.pubSub.count()).toBe(1);
  await add(1);
  expect((await events.next()).data.traceChanged.trace.logCount).toBe(3_201); // of an event of 1 MB, not of 32
  await add(100);
  const { errors } = await events.next();
  expect(errors).toMatchObject([{ extensions: { code: "QUERY_TOO_COMPLEX" } }]);
});

const TOTAL = "logCount";
const LISTED = "logs(first: 1000) { nodes { id } }";

test.each([
  ["ids count where a trace is needed as a tree", TOTAL, ["id", "parentId"]],
  ["texts count where the logs of a trace are listed", LISTED, ["name", "slug", "version", "tag"]],
])("long %s", async (_, fields, long) => {
  await using server = await startServer();
  const text = (name: string) => `${name}${"x".repeat(long.includes(name) ? 2_000 / long.length : 0)}`;
  const prompt = { slug: text("slug"), version: text("version"), tag: text("tag") };
  const log = (n: number) => ({
    id: text("id") + n,
    parentId: text("parentId"),
    type: "span",
    name: text("name"),
    prompt,
  });
  const logs = Array.from({ length: 1_000 }, (_, n) => log(n));
  for (let n = 0; n < 9; n++) expect((await server.post("/monitor/trace", { logs })).status).toBe(200);
  const ask = async (first: number) => {
    const { body } = await server.graphql(`{ traces(first: ${first}) { nodes { ${fields} } } }`);
    return body.errors?.[0].extensions.code;
  };
  expect(await ask(9)).toBe("QUERY_TOO_COMPLEX"); // 4 MB for each trace
  expect(await ask(6)).toBeUndefined();
});

test("a long trace whose time is up stores nothing more", async () => {
  await using server = await startServer({ timeLimitMs: 1_000 });
  const queue = writeQueueOf(server.database.orm.em)!;
  const workspaceId = await getWorkspaceId(server.database, "default");
  const logs = Array.from({ length: 3_000 }, (_, n) => ({ id: `${n}`, type: "span" }));
  const release = await queue.acquire(workspaceId);
  const response = await fetch(`${server.url}/monitor/trace`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    body: JSON.stringify({ logs }),
  }).finally(release);
  expect(response.status).toBe(503);
  for (let turn = 0; turn < 30; turn++) await queue.run(workspaceId, async () => {});
  const [stored] = await server.database
    .fork(workspaceId)
    .execute<{ n: number }[]>("select count(*) as n from logs");
  expect(Number(stored!.n)).toBe(0);
});

test("a long trace that is removed while its logs are stored is a CONFLICT, at both APIs", async () => {
  await using server = await startServer();
  const logs = Array.from({ length: 1_500 }, (_, n) => ({ id: `${n}`, type: "span" as const }));
  const byRest = () =>
    server.post("/monitor/trace", { logs }).then(({ status, body }) => [status, body.code]);
  const mutation = "mutation ($input: LogTraceInput!) { logTrace(input: $input) { trace { id } } }";
  const byGraphql = async () => {
    const input = { logs: logs.map((log) => ({ ...log, type: "SPAN" })) };
    const { status, body } = await server.graphql(mutation, { input });
    return [status, body.errors?.[0].extensions.code];
  };
  expect(await removeWhileStored(server, byRest)).toEqual([409, "CONFLICT"]);
  expect(await removeWhileStored(server, byGraphql)).toEqual([200, "CONFLICT"]);
});
