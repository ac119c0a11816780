import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { finished } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test, vi } from "vitest";
import { holdCommits } from "../support/commits.ts";
import { encodeSpans, JSON_TYPE, newSpan, PROTOBUF } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { type Server, startServer } from "../support/server.ts";
import { countTurns, turnsDuring } from "../support/turns.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const grpc = await connectGrpc(server);
afterAll(() => grpc[Symbol.dispose]());

const agent = new Agent({ keepAlive: true });
afterAll(() => agent.destroy());

const soon = { timeout: 20_000 };
const MEGABYTE = 1024 * 1024;

/** Sends a body over a connection of its own; gives the status. */
async function send(body: Buffer, path = "/monitor/log", more: Record<string, string> = {}): Promise<number> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${server.token}`, ...more };
  const sent = request(server.url + path, { method: "POST", headers, agent });
  const status = new Promise<number>((resolve, reject) => {
    sent.on("response", (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.on("error", reject);
  });
  sent.end(body);
  await finished(sent);
  return status;
}

const logOf = (bytes: number) =>
  Buffer.from(
    JSON.stringify({ slug: "large", input: "x".repeat(bytes), output: "", inputTokens: 1, outputTokens: 1 }),
  );

/** A request of OpenTelemetry with one span. */
const span = (bytes: number, type = JSON_TYPE) => {
  const attributes = [{ key: "input.value", value: { stringValue: "x".repeat(bytes) } }];
  return encodeSpans([newSpan({ attributes })], type);
};

const GZIP = { "content-encoding": "gzip" };
const byGrpc = async (bytes: number) => (await grpc.send(span(bytes, PROTOBUF))).code === 0;

test.each([
  ["logs", async (bytes: number) => (await send(logOf(bytes))) === 200],
  ["spans of OpenTelemetry", async (bytes: number) => (await send(span(bytes), "/v1/traces")) === 200],
  [
    "spans that are large once they are unpacked",
    async (bytes: number) => (await send(gzipSync(span(bytes)), "/v1/traces", GZIP)) === 200,
  ],
  ["spans by gRPC", byGrpc],
])(
  "large bodies of a workspace are answered one after another, and others are accepted between them: %s",
  async (_, isTaken) => {
    const several = (bytes: number) => () =>
      Promise.all(Array.from({ length: 8 }, async () => expect(await isTaken(bytes)).toBe(true)));
    await several(1_000)();
    expect(await turnsDuring(several(0.3 * MEGABYTE))).toBeGreaterThan(7 * 60);
  },
);

/** Sends a log whole by a client of its own; gives the status once it is answered. */
async function sendLog(to: Server, bytes: number): Promise<number> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${to.token}` };
  const response = await fetch(`${to.url}/monitor/log`, { method: "POST", headers, body: logOf(bytes) });
  await response.text();
  return response.status;
}

test("of more large bodies at once than may be in memory those that began first are answered, and few are refused in a turn", async () => {
  await using server = await startServer({ limits: { maxBodyBytes: 16 * MEGABYTE } });
  const turns = countTurns();
  const refused: number[] = [];
  server.app.server.on("request", (_, response) =>
    response.once("prefinish", () => response.statusCode === 503 && refused.push(turns.now())),
  );
  const statuses = await Promise.all(Array.from({ length: 64 }, () => sendLog(server, MEGABYTE)));
  turns.stop();
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  for (const ofTurn of Map.groupBy(refused, (turn) => turn).values())
    expect(ofTurn.length).toBeLessThanOrEqual(8);
});

test("a small body is not kept waiting by large ones that began before it", async () => {
  const answered: string[] = [];
  const large = Array.from({ length: 6 }, () =>
    sendLog(server, 9 * MEGABYTE).then((status) => answered.push(`large ${status}`)),
  );
  await once(server.app.server, "request");
  await sendLog(server, 10_000).then((status) => answered.push(`small ${status}`));
  await Promise.all(large);
  expect(answered).toEqual(["small 200", ...large.map(() => "large 200")]);
});

test("bodies of 90 kB with 30,000 values are answered one after another as large ones are, and a text beside them", async () => {
  await using server = await startServer();
  const commits = holdCommits(server);
  const log = (output: unknown) => server.post("/monitor/log", { slug: "x", output });
  const objects = Array.from({ length: 30_000 }, () => ({}));
  const nested = Array.from({ length: 400 }, () => JSON.parse("[".repeat(90) + "]".repeat(90)));
  const answers = [log(objects), log(nested), log(objects)];
  await expect.poll(commits.begun).toBe(1);
  answers.push(log("x".repeat(90_000)));
  await expect.poll(commits.begun).toBe(2);
  commits.goOn();
  for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
});

test("a large body is read in many turns of the event loop", async () => {
  const refused = Buffer.from(`[${"0,".repeat(4.5 * MEGABYTE)}0]`);
  const turns = await turnsDuring(async () => expect(await send(refused)).toBe(400));
  expect(turns).toBeGreaterThan(140);
});

test("bodies that nobody reads are taken at 16 MB per second from all connections together", async () => {
  const { hostname, port } = new URL(server.url);
  const head = `POST /monitor/log HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${4 * MEGABYTE}\r\n\r\n`;
  const sendWithoutToken = async () => {
    const socket = connect(Number(port), hostname);
    let received = "";
    socket.on("data", (bytes) => {
      received += bytes;
    });
    socket.write(head);
    socket.write(Buffer.alloc(4 * MEGABYTE));
    await expect.poll(() => received, soon).toContain("HTTP/1.1 401 ");
    socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); // is read after the body
    await expect.poll(() => received, soon).toContain("HTTP/1.1 200 ");
    socket.destroy();
  };
  const sinceMs = performance.now();
  await Promise.all(Array.from({ length: 4 }, sendWithoutToken));
  expect(performance.now() - sinceMs).toBeGreaterThan(900);
});

test("no request makes Node.js warn that its response has too many listeners", async () => {
  const warned = vi.fn();
  process.on("warning", warned);
  try {
    expect(await send(logOf(100_000))).toBe(200);
    expect(await send(logOf(100_000), "/monitor/log", { "idempotency-key": "one" })).toBe(200);
    expect(await send(span(100_000), "/v1/traces")).toBe(200);
    const query = "{ logs(first: 2) { nodes { input } } } #";
    const body = Buffer.from(JSON.stringify({ query: query.padEnd(100_000) }));
    for (const encoding of ["identity", "gzip"])
      expect(await send(body, "/graphql", { "accept-encoding": encoding })).toBe(200);
  } finally {
    process.off("warning", warned);
  }
  expect(warned.mock.calls.map(([{ message }]) => message)).toEqual([]);
});

test("a body counts 8 bytes more for each of its commas and brackets once it is parsed", async () => {
  await using server = await startServer({ limits: { maxBodyBytes: 1_200_000 } });
  const log = (output: unknown) => server.post("/monitor/log", { slug: "x", output });
  expect((await log("x".repeat(255_000))).status).toBe(200);
  expect((await log(Array.from({ length: 50_000 }, () => ({})))).status).toBe(200);
  expect((await log(Array.from({ length: 85_000 }, () => ({})))).status).toBe(503);
  expect((await log(Array.from({ length: 50_000 }, () => ({})))).status).toBe(200);
});
