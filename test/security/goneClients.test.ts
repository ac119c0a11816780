import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { createAnswerMemory } from "../../src/limits/answerMemory.ts";
import { beginWork, endWork } from "../../src/limits/handlerWork.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { holdCommits } from "../support/commits.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { openEvents, subscribe } from "../support/events.ts";
import { encodeSpans, newSpan } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { type Server, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const rateLimits = { perToken: null, perAddress: 100_000 };
const METRICS_TOKEN = "a token for the metrics only";
const MB = 1024 * 1024;

afterEach(() => vi.restoreAllMocks());

/** Sends a log and leaves the connection open. */
function send({ url, token }: Server, output: string): Socket {
  const body = JSON.stringify({ slug: "a", output, inputTokens: 1, outputTokens: 1 });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {}); // it may be refused
  const head = `POST /monitor/log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  return socket;
}

async function close(sockets: Socket[]): Promise<void> {
  const closed = sockets.map((socket) => once(socket, "close"));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
}

async function inFlight({ url }: Server): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  return Number(/^gabbro_requests_in_flight (\d+)$/m.exec(await answer.text())![1]);
}

const statusOf = async ({ url, token }: Server) =>
  (await fetch(`${url}/datasets`, { headers: { authorization: `Bearer ${token}` } })).status;

test("requests are in flight until their work ends, though their clients have closed the connections", async () => {
  await using server = await startServer({ limits: { maxInFlight: 4 }, metricsToken: METRICS_TOKEN });
  const { begun, goOn } = holdCommits(server);
  const sockets = Array.from({ length: 4 }, (_, n) => send(server, `${n}`));
  await expect.poll(begun).toBe(4);
  await close(sockets);
  for (let n = 0; n < 5; n++) expect(await statusOf(server)).toBe(503);
  expect(await inFlight(server)).toBe(4);
  goOn();
  await expect.poll(() => inFlight(server)).toBe(0);
  expect(await statusOf(server)).toBe(200);
});

test("64 requests of a workspace are worked on at once, though their clients have closed the connections", async () => {
  await using server = await startServer();
  const { begun, goOn } = holdCommits(server);
  const sockets = Array.from({ length: 64 }, (_, n) => send(server, `${n}`));
  await expect.poll(begun).toBe(64);
  await close(sockets);
  const next = server.post("/monitor/log", { slug: "a", output: "next", inputTokens: 1, outputTokens: 1 });
  await server.get("/ready");
  await server.get("/ready");
  expect(begun()).toBe(64);
  goOn();
  expect((await next).status).toBe(200);
});

test("large bodies count and are worked on one after another, though their clients have closed the connections", async () => {
  await using server = await startServer({ limits: { maxBodyBytes: 3 * MB } });
  const { begun, goOn } = holdCommits(server);
  const first = send(server, "x".repeat(2 * MB));
  await expect.poll(begun).toBe(1);
  await close([first]);
  const log = { slug: "a", output: "x".repeat(2 * MB), inputTokens: 1, outputTokens: 1 };
  expect((await server.post("/monitor/log", log)).status).toBe(503);
  const second = server.post("/monitor/log", { ...log, output: "x".repeat(MB / 2) });
  await server.get("/ready");
  await server.get("/ready");
  expect(begun()).toBe(1);
  goOn();
  expect((await second).status).toBe(200);
  expect((await server.post("/monitor/log", log)).status).toBe(200);
});

test("calls of gRPC are in flight until their work ends, though their clients have cancelled them", async () => {
  await using server = await startServer({ limits: { maxInFlight: 2 } });
  using client = await connectGrpc(server);
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const turn = vi.spyOn(server.database, "turn").mockReturnValue(mayGoOn);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const spans = encodeSpans(Array.from({ length: 1_000 }, () => newSpan()));
  const frame = Buffer.concat([Buffer.alloc(5), spans]);
  frame.writeUInt32BE(spans.length, 1);
  for (let n = 1; n <= 2; n++) {
    const stream = session.request({
      ":method": "POST",
      ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${server.token}`,
    });
    stream.end(frame);
    await expect.poll(() => turn.mock.calls.length).toBeGreaterThanOrEqual(n);
    stream.close();
    await once(stream, "close");
  }
  for (let n = 0; n < 5; n++) expect((await client.send(spans)).details).toContain("overloaded");
  goOn();
  await expect.poll(async () => (await client.send(spans)).code).toBe(0);
  session.destroy();
});

test.each([
  ["without a key", ""],
  ["with a key", "Idempotency-Key: k\r\n"],
])("a dry run of repriceLogs %s ends once its client has left", async (_, keyHeader) => {
  const timeLimitMs = 1_000;
  await using server = await startServer({ timeLimitMs });
  const logs = Array.from({ length: 250 }, (_, n) => ({ id: `${n}`, type: "span" }));
  await server.post("/monitor/trace", { name: "t", logs });
  const stop = await captureStatements(server);
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const turn = vi.spyOn(server.database, "turn").mockReturnValue(mayGoOn);
  const period = '{ from: "2000-01-01", to: "3000-01-01", dryRun: true }';
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  const body = JSON.stringify({
    query: `mutation { a: repriceLogs(input: ${period}) { examined } b: repriceLogs(input: ${period}) { examined } }`,
  });
  const head = `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n`;
  const type = "Content-Type: application/json\r\n";
  socket.write(`${head}${keyHeader}${type}Content-Length: ${body.length}\r\n\r\n${body}`);
  await expect.poll(() => turn.mock.calls.length).toBe(1);
  socket.destroy();
  const connections = () =>
    new Promise((resolve) => server.app.server.getConnections((_, count) => resolve(count)));
  await expect.poll(connections).toBe(0);
  await wait(2 * timeLimitMs); // the timer of the request comes before
  goOn();
  await server.app.close();
  expect(stop().filter(({ sql }) => /^select .*from .logs/.test(sql))).toHaveLength(2); // of three pages
});

test("what is read for an answer is held until the work on it ends, though its client has closed the connection", async () => {
  const memory = createAnswerMemory(100);
  const answer = new Writable();
  beginWork(answer);
  memory.hold(answer, "one", 20);
  const isClosed = once(answer, "close");
  answer.destroy();
  await isClosed;
  memory.hold(answer, "one", 30);
  expect(() => memory.hold(answer, "one", 1)).toThrow("Too many large answers");
  endWork(answer);
  expect(memory.heldBytes()).toBe(0);
});

test("a client that closes the connection while it is answered leaves no error in the log", async () => {
  const lines: string[] = [];
  await using server = await startServer({ log: (line) => lines.push(line), metricsToken: METRICS_TOKEN });
  await addDataset(server, {
    slug: "large",
    columns: [{ name: "text", type: "text" }],
    rows: Array.from({ length: 100 }, () => ({ values: { text: "x".repeat(100_000) } })),
  });
  for (let n = 0; n < 40; n++) {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(`GET /datasets/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`);
    await once(socket, "connect");
    await wait(n % 10); // before its first byte, or between others
    await close([socket]);
  }
  await expect.poll(() => inFlight(server)).toBe(0);
  expect(lines.filter((line) => line.includes('"level":50'))).toEqual([]);
});

test.each([
  ["REST", (server: Server) => openEvents(server, "/prompts/followed/events")],
  [
    "GraphQL",
    (server: Server) => subscribe(server, 'subscription { promptChanged(slug: "followed") { version } }'),
  ],
])(
  "a stream of a prompt by %s whose read fails once its client has gone ends without ending the process",
  async (_, follow) => {
    await using server = await startServer();
    const { database } = server;
    await addPrompt(server, { slug: "followed", versions: [{ version: "1" }], tags: { production: "1" } });
    const unhandled: unknown[] = [];
    const record = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", record);
    const events = await follow(server);
    await events.next();
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    lost.catch(() => {});
    const reads = vi.spyOn(database, "rows").mockImplementation(() => lost);
    const workspaceId = await getWorkspaceId(database, "default");
    await database.fork(workspaceId).transactional((em) => em.execute("select 1")); // what is cached is read again
    database.pubSub.prompts.publish(workspaceId, {
      slug: "followed",
      action: "publishPrompt",
      tag: "t",
      version: "1",
    });
    await expect.poll(() => reads.mock.calls.length).toBeGreaterThan(0);
    await events[Symbol.asyncDispose]();
    await expect.poll(() => database.pubSub.count()).toBe(0);
    lose(new Error("the connection is lost"));
    await wait(50);
    process.off("unhandledRejection", record);
    expect(unhandled).toEqual([]);
    reads.mockRestore();
    expect((await server.get("/prompts/followed")).status).toBe(200);
  },
);

test("requests whose clients break off while they wait are no errors", async () => {
  const logged: string[] = [];
  await using server = await startServer({ rateLimits, log: (line) => logged.push(line) });
  const port = Number(new URL(server.url).port);
  for (let round = 0; round < 5; round++) {
    const sockets = Array.from({ length: 200 }, () => connect(port, "127.0.0.1"));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    for (const path of ["/datasets", "/health"])
      for (const socket of sockets) socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    for (const socket of sockets) socket.resetAndDestroy();
    expect(await statusOf(server)).toBe(200);
  }
  expect(logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
});
