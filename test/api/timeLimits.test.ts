import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { subscribe } from "../support/events.ts";
import { lockWrites } from "../support/locks.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const LIMIT_MS = 1_200;
const BEYOND_MS = LIMIT_MS + 700; // also when it is looked for only now and then
const ROWS = 10_001;

const server = await startServer({ timeLimitMs: LIMIT_MS });
afterAll(() => server[Symbol.asyncDispose]());
const text = [{ name: "a", type: "text" as const }];
await addDataset(server, { slug: "small", columns: text });
await addPrompt(server, { slug: "x", versions: [{ version: "1" }], tags: { production: "1" } });

const send = async (path: string, body?: object, more: Record<string, string> = {}) => {
  const response = await fetch(server.url + path, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json", ...more },
    ...(body && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    body: await response.json(),
  };
};

/** A request whose body is sent piece by piece. */
function slowRequest(path: string) {
  const headers = { authorization: `Bearer ${server.token}`, "content-type": "application/json" };
  const sent = request(server.url + path, { method: "POST", headers });
  const status = once(sent, "response").then(([response]) => (response as IncomingMessage).statusCode);
  return Object.assign(sent, { status });
}

test("the fields of an operation that still wait for their turns when its time is up are not begun", async () => {
  const { turn } = server.database;
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const waits = vi
    .spyOn(server.database, "turn")
    .mockImplementation((workspaceId) => mayGoOn.then(() => turn(workspaceId)));
  const fields = Array.from({ length: 29 }, (_, n) => `a${n}: auditLog(first: 1) { nodes { id } }`);
  expect((await send("/graphql", { query: `{ ${fields.join(" ")} }` })).status).toBe(503);
  const waiting = waits.mock.calls.length;
  expect(waiting).toBeGreaterThan(20);
  const stop = await captureStatements(server);
  goOn();
  await Promise.all(waits.mock.results.map(({ value }) => value));
  waits.mockRestore();
  expect((await send("/datasets/small")).status).toBe(200);
  expect(stop().filter(({ sql }) => sql.includes("audit_entries"))).toEqual([]);
});

test.each([
  'repriceLogs(input: { from: "2020-01-01", to: "2020-01-02", dryRun: true }) { examined }',
  'pruneTraces(input: { before: "2020-01-01", dryRun: true }) { traces }',
])("what follows in the request of a job without a time limit has one: %s", async (job) => {
  const query = `mutation { ${job} logPrompt(input: { slug: "x", output: 1 }) { log { id } } }`;
  const release = await lockWrites(server);
  const late = await send("/graphql", { query });
  await release();
  expect(late).toMatchObject({ status: 503, body: { errors: [{ extensions: { code: "TIMED_OUT" } }] } });
});

test("a request that takes too long is answered 503 TIMED_OUT by both APIs, and in full when it is sent again with its key", async () => {
  const add = () => send("/monitor/log", { slug: "x", output: 1 });
  const isServed = async () => expect((await add()).status).toBe(200);
  await vi.waitFor(isServed, { timeout: 30_000 }); // what is needed for the first one is loaded
  const logged = 'mutation { logPrompt(input: { slug: "x", output: "once" }) { log { prompt { slug } } } }';
  const key = { "idempotency-key": "late" };
  const release = await lockWrites(server);
  const late = [add(), send("/graphql", { query: logged }, key)];
  const reprice = 'mutation { repriceLogs(input: { from: "2020-01-01", to: "2040-01-01" }) { examined } }';
  const repriced = send("/graphql", { query: reprice });
  expect((await send("/datasets/small")).status).toBe(200);
  const [rest, graphql] = await Promise.all(late);
  await wait(BEYOND_MS - LIMIT_MS);
  await release();
  const message = expect.stringMatching(/^This request took too long .* with an Idempotency-Key/);
  expect(rest).toEqual({ status: 503, retryAfter: "1", body: { error: message, code: "TIMED_OUT" } });
  expect(graphql).toEqual({
    status: 503,
    retryAfter: "1",
    body: { errors: [{ message, extensions: { code: "TIMED_OUT" } }] },
  });
  expect((await repriced).body).toEqual({ data: { repriceLogs: { examined: expect.any(Number) } } });
  await vi.waitFor(isServed, { timeout: 30_000 });
  const again = await send("/graphql", { query: logged }, key);
  expect(again).toMatchObject({
    status: 200,
    body: { data: { logPrompt: { log: { prompt: { slug: "x" } } } } },
  });
});

test("what a request that was given up still had to read is not read", async () => {
  await using hasty = await startServer({ timeLimitMs: 1 });
  const rows = Array.from({ length: ROWS }, () => ({ values: { a: "1" } }));
  await addDataset(hasty, { slug: "large", columns: text, rows });
  const stop = await captureStatements(hasty);
  const { body } = await hasty.graphql('{ dataset(slug: "large") { warning } }');
  const reads = stop().filter(({ sql }) => /from "dataset_rows"/.test(sql));
  expect(body.errors[0].extensions.code).toBe("TIMED_OUT");
  expect(reads.length).toBeLessThan(Math.floor(ROWS / 500));
});

test("sending a body, reading an answer and listening take as long as they take", async () => {
  const values = { a: "x".repeat(4_000) };
  await addDataset(server, { slug: "long", columns: text, rows: Array(4_000).fill({ values }) });
  const headers = { authorization: `Bearer ${server.token}` };
  const slow = await fetch(`${server.url}/datasets/long`, { headers });
  await using events = await subscribe(
    server,
    'subscription { logAdded(slug: "x") { output prompt { slug } } }',
  );
  const sending = slowRequest("/monitor/log");
  sending.write('{"slug": "y", ');
  await wait(BEYOND_MS);
  sending.end('"output": 1}');
  expect(await sending.status).toBe(200);
  await send("/monitor/log", { slug: "x", output: "added" });
  expect(await events.next()).toEqual({ data: { logAdded: { output: "added", prompt: { slug: "x" } } } });
  expect(((await slow.json()) as { dataset: { rows: unknown[] } }).dataset.rows).toHaveLength(4_000);
});

test("unless it is set, the limit is ten seconds", async () => {
  await using app = await createApp(await openDatabase(server.databaseUrl, entities), {}, false);
  const taken = Promise.withResolvers<ServerResponse>();
  app.get("/never", (_, reply) => {
    taken.resolve(reply.raw);
    return new Promise(() => {});
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const answered = once(request(`${url}/never`).end(), "response");
    const response = await taken.promise;
    vi.advanceTimersByTime(9_990);
    expect(response.headersSent).toBe(false);
    vi.advanceTimersByTime(20);
    expect(response.headersSent).toBe(true);
    expect((await answered)[0]).toMatchObject({ statusCode: 503 });
  } finally {
    vi.useRealTimers();
  }
});

test("a request whose time is up while its large answer waits for others is answered once", async () => {
  const logged: string[] = [];
  const logger = { level: "warn", stream: { write: (line: string) => void logged.push(line) } };
  await using app = await createApp(await openDatabase(server.databaseUrl, entities), {}, logger);
  app.post("/large", async () => {
    setImmediate(() => setImmediate(() => vi.advanceTimersByTime(10_010)));
    return { isLarge: true };
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const sent = request(`${url}/large`, { method: "POST", headers: { "content-type": "application/json" } });
    const answered = once(sent.end(JSON.stringify("x".repeat(300_000))), "response");
    expect((await answered)[0]).toMatchObject({ statusCode: 503 });
    expect(logged.filter((line) => line.includes("already sent"))).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

const patient = await startServer();
afterAll(() => patient[Symbol.asyncDispose]());
await addDataset(patient, { slug: "small", columns: text });
const ROWS_OF_D = "fragment D on Dataset { rows(first: 1001) { nodes { id values } } }";
const PAGE_OF_DATASETS =
  "fragment P on DatasetConnection { nodes { rows(first: 1001) { nodes { id values } } } }";
const BOTH_TRANSPORTS = ["application/json", "application/json, multipart/mixed"];

test.each<[query: string, variables: Record<string, unknown>, isTaken: boolean]>([
  [
    '{ dataset(slug: "small") { rows { nodes { id name key values idealOutput metadata createdAt } } } }',
    {},
    true,
  ],
  [
    "query($n: Int) { datasets(first: $n) { nodes { rows(first: 500) { nodes { id values } } } } }",
    { n: 100 },
    true,
  ],
  [
    "query($n: Int) { datasets(first: $n) { nodes { rows(first: 1001) { nodes { id values } } } } }",
    { n: 100 },
    false,
  ],
  [
    "query($n: Int = 100) { datasets(first: $n) { nodes { rows(first: 1001) { nodes { id values } } } } }",
    {},
    false,
  ],
  [
    "query($n: Int = 100) { datasets(first: $n) { nodes { rows(first: 1001) { nodes { id values } } } } }",
    { n: 10 },
    true,
  ],
  [
    "query($n: Int = 10) { datasets(first: $n) { nodes { rows(first: 1001) { nodes { id values } } } } }",
    {},
    true,
  ],
  ["{ datasets { nodes { rows { nodes { id } } } } }", {}, false],
  [
    "{ datasets { nodes { ...D } } } fragment D on Dataset { rows { nodes { ... on DatasetRow { id } } } }",
    {},
    false,
  ],
  [`{ a: datasets(first: 60) { nodes { ...D } } } ${ROWS_OF_D}`, {}, true],
  [
    `{ a: datasets(first: 60) { nodes { ...D } } b: datasets(first: 60) { nodes { ...D } } } ${ROWS_OF_D}`,
    {},
    false,
  ],
  ["{ datasets(last: 60) { nodes { rows(first: 1001) { nodes { id values } } } } }", {}, true],
  ["{ datasets { edges { node { rows(first: 700) { edges { cursor node { id } } } } } } }", {}, false],
  ["{ datasets { edges { node { rows(first: 600) { edges { cursor node { id } } } } } } }", {}, true],
  [`{ datasets { ...P } } ${PAGE_OF_DATASETS}`, {}, false],
  [`{ datasets(first: 60) { ...P pageInfo { endCursor } } } ${PAGE_OF_DATASETS}`, {}, true],
  [
    "{ logs { nodes { trace { logs: id } prompt { versions { nodes { variables { label } } } } } } }",
    {},
    true,
  ],
  [
    "{ datasets { nodes { rows(first: 390) { nodes { log { trace { logs(first: 1) { nodes { id } } } } } } } } }",
    {},
    true,
  ],
  [
    "{ datasets { nodes { rows(first: 410) { nodes { log { trace { logs(first: 1) { nodes { id } } } } } } } } }",
    {},
    false,
  ],
])(
  "the answer of an operation has at most 200,000 fields, rows by fields: %s %j",
  async (query, variables, isTaken) => {
    for (const accept of BOTH_TRANSPORTS) {
      const { status, body } = await patient.graphql(query, variables, { headers: { accept } });
      expect(status).toBe(200);
      if (isTaken) expect(body.errors).toBeUndefined();
      else
        expect(body).toEqual({
          errors: [
            {
              message: expect.stringMatching(/^The answer could have more than 200000 fields\. .*"first"/),
              locations: expect.anything(),
              extensions: { code: "QUERY_TOO_COMPLEX" },
            },
          ],
        });
    }
  },
);

test("an operation reports its cost when a header asks for it, from the cache as well", async () => {
  const query = "{ prompts(first: 5) { nodes { slug name } pageInfo { endCursor } } }";
  for (const accept of BOTH_TRANSPORTS) {
    const headers = { accept, "gabbro-cost": "1" };
    const cost = { maxFields: 1 + 1 + 5 * 2 + 1 + 1, limit: 200_000 };
    for (let times = 0; times < 2; times++) {
      expect((await patient.graphql(query, {}, { headers })).body.extensions).toEqual({ cost });
      expect((await patient.graphql(query, {}, { headers: { accept } })).body).not.toHaveProperty(
        "extensions",
      );
    }
  }
});

test("a mutation whose answer could be too large changes nothing", async () => {
  const shown =
    "rows { nodes { id name key values idealOutput metadata createdAt log { id input output idealOutput trace { id } prompt { slug } cost costSource version model latencyMs type } } }";
  const made = await patient.graphql(
    `mutation { createDataset(input: { slug: "never", columns: [] }) { dataset { ${shown} } } }`,
  );
  expect(made.body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
  expect((await patient.get("/datasets/never")).status).toBe(404);
});

test("fields whose answer went out with the error of another one read no more", async () => {
  await using server = await startServer();
  const rows = Array.from({ length: 12_000 }, () => ({ values: {} }));
  await addDataset(server, { slug: "walked", columns: [], rows });
  const walk = (slug: string) =>
    `datasetDiff(slug: "${slug}", from: { version: 1 }, to: { version: 1 }) { pageInfo { hasNextPage } }`;
  const walks = Array.from({ length: 20 }, (_, n) => `walk${n}: ${walk("walked")}`).join(" ");
  const stop = await captureStatements(server);
  const { body } = await server.graphql(`{ ${walks} ${walk("missing")} }`);
  expect(body.errors[0].extensions.code).toBe("DATASET_NOT_FOUND");
  expect((await server.graphql(`{ ${walk("walked")} }`)).body.errors).toBeUndefined(); // as long as the others would take
  const ofRows = stop().filter(({ sql }) => /from [`"]dataset_rows[`"]/.test(sql));
  expect(ofRows.length).toBeGreaterThanOrEqual(7);
  expect(ofRows.length).toBeLessThan(70); // without the end of their time 140
});
