import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { runOrder } from "../../faults/openLoop.ts";
import { createDelay } from "../../src/http/refusals.ts";
import { CLIENT_LIMITS } from "../../src/http/server.ts";
import { addDataset, addWorkspace } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

// The long form: npm run faults -- overload

/** A connection on which some bytes were sent. */
function open({ url }: Server, bytes: string | Buffer = "") {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}); // it is cut, which is what is wanted
  socket.write(bytes);
  return socket;
}

const post = ({ token }: Server, path: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;

test.each([{ maxInFlight: 0 }])(
  "what is more than %j is refused in the form of its API, and never who asks how the service fares",
  async (limits) => {
    await using server = await startServer({ limits });
    const call = { headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" } };
    for (const [path, body] of [
      ["/datasets/x", undefined],
      ["/monitor/log", "{}"],
      ["/graphql", '{"query":"{ __typename }"}'],
      ["/graphql?query={__typename}", undefined],
    ] as const) {
      const answer = await fetch(server.url + path, { ...call, ...(body && { method: "POST", body }) });
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
      const message = expect.stringContaining("is overloaded");
      expect(await answer.json()).toEqual(
        path.startsWith("/graphql")
          ? { errors: [{ message: message, extensions: { code: "UNAVAILABLE" } }] }
          : { error: message, code: "UNAVAILABLE" },
      );
    }
    for (const path of ["/health", "/ready"]) expect((await fetch(server.url + path)).status).toBe(200);
  },
);

test("refusals are readable for pages of allowed origins only, and are counted", async () => {
  const origin = "https://app.example";
  const metricsToken = "a token for the metrics only";
  await using server = await startServer({ corsOrigins: [origin], metricsToken, limits: { maxInFlight: 0 } });
  const allowed = async (from: string) =>
    (await fetch(`${server.url}/datasets`, { headers: { origin: from } })).headers.get(
      "access-control-allow-origin",
    );
  expect(await allowed(origin)).toBe(origin);
  expect(await allowed("https://other.example")).toBe(null);
  const metrics = await fetch(`${server.url}/metrics`, {
    headers: { authorization: `Bearer ${metricsToken}` },
  });
  expect(await metrics.text()).toContain("\ngabbro_refused_requests_total 2\n");
});

test("who asks again as soon as it is refused is refused twice a second, so that refusing takes no time of others", async () => {
  await using server = await startServer({ limits: { maxInFlight: 0 } });
  const begun = performance.now();
  for (let n = 0; n < 3; n++) expect((await fetch(`${server.url}/datasets`)).status).toBe(503);
  expect(performance.now() - begun).toBeGreaterThan(1_480);
});

test("refusals wait for half a second, and 50 of them are sent every 25 ms, in their order, to those who still wait", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  try {
    const delay = createDelay();
    const sent: number[] = [];
    const open = { closed: false };
    for (let n = 0; n < 120; n++) delay(open, () => sent.push(n));
    vi.advanceTimersByTime(499);
    expect(sent).toHaveLength(0);
    const lengths = [1, 25, 25].map((ms) => {
      vi.advanceTimersByTime(ms);
      return sent.length;
    });
    expect(lengths).toEqual([50, 100, 120]);
    for (let n = 0; n < 1_000; n++) delay({ closed: true }, () => sent.push(-1)); // nobody waits for these
    delay(open, () => sent.push(120));
    vi.advanceTimersByTime(500);
    expect(sent).toEqual(Array.from({ length: 121 }, (_, n) => n));
  } finally {
    vi.useRealTimers();
  }
});

test("a refusal of a service that is about to stop closes the connection, so that clients go elsewhere", async () => {
  await using server = await startServer({ limits: { maxInFlight: 0 } });
  const connection = async () => (await fetch(`${server.url}/datasets`)).headers.get("connection");
  expect(await connection()).toBe("keep-alive");
  await server.app.drain(0);
  expect(await connection()).toBe("close");
});

const many = 300;
const unlimited = { maxInFlight: Number.POSITIVE_INFINITY };

test.each([
  { what: "refuses what is too much", limits: { maxInFlight: 20 }, refuses: true },
  { what: "would refuse nothing without its limits", limits: unlimited, refuses: false },
])("under many callers who do not wait the service $what", async ({ limits, refuses }) => {
  const lines: string[] = [];
  await using server = await startServer({ sample: true, limits, log: (line) => lines.push(line) });
  const order = { url: server.url, token: server.token, mix: "served", deadlineMs: 30_000 } as const;
  const overload = await runOrder({ ...order, connections: many, seconds: 1 });
  expect(overload).toMatchObject({ wrong: 0, unanswered: 0, late: 0 });
  expect(overload.good).toBeGreaterThan(0);
  expect(overload.refused > 0).toBe(refuses);
  const after = await runOrder({ ...order, connections: 4, seconds: 0.2 });
  expect(after).toMatchObject({ wrong: 0, unanswered: 0, refused: 0 });
  expect(after.good).toBeGreaterThan(0);
  if (!refuses) return;
  await expect.poll(() => lines.join(""), { timeout: 5_000 }).toContain("overloaded");
});

test("requests whose callers hang up do not count for ever", async () => {
  await using server = await startServer({ limits: { maxInFlight: 5 } });
  const body = JSON.stringify({ slug: "x", output: 1 });
  for (let n = 0; n < 40; n++) open(server, post(server, "/monitor/log", body)).destroySoon();
  await expect
    .poll(async () => (await fetch(`${server.url}/datasets/x`)).status, { timeout: 5_000 })
    .toBe(401);
});

test.each([600_000, 20_000])(
  "bodies of %i bytes that hold too much together are broken off, and room is made when one is gone",
  async (bytes) => {
    await using server = await startServer({ limits: { maxBodyBytes: bytes * 1.5 } });
    const body = JSON.stringify({ slug: "x", output: "o".repeat(bytes) });
    const send = () => open(server, post(server, "/monitor/log", body));
    // A body that comes whole with its head is not held.
    const sendUnfinished = () => open(server, post(server, "/monitor/log", body.slice(0, -1), body.length));
    const first = sendUnfinished();
    await wait(100); // until it has arrived
    const second = sendUnfinished();
    const [answer] = await once(second, "data");
    expect(`${answer}`).toMatch(/^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/is);
    second.destroy();
    first.write("}");
    expect(`${(await once(first, "data"))[0]}`).toMatch(/^HTTP\/1\.1 200 /);
    first.destroy();
    const third = send();
    expect(`${(await once(third, "data"))[0]}`).toMatch(/^HTTP\/1\.1 200 /);
    third.destroy();
  },
);

test("a client that sends the head or the body of a request too slowly is cut off without an answer", async () => {
  const { headersMs, requestMs, checkMs } = CLIENT_LIMITS;
  expect(headersMs + checkMs).toBeLessThanOrEqual(15_000);
  expect(requestMs + checkMs).toBeLessThanOrEqual(35_000);
  const clientLimits = { headersMs: 300, requestMs: 1_500, checkMs: 50 };
  await using server = await startServer({ clientLimits });
  const begun = performance.now();
  const body = text(open(server, post(server, "/monitor/log", '{"slug', 1_000)));
  const head = text(open(server, "GET /health HTTP/1.1\r\nHost"));
  expect(await Promise.race([body.then(() => "body"), head.then(() => "head")])).toBe("head");
  expect(performance.now() - begun).toBeGreaterThan(250);
  expect([await head, await body]).toEqual(["", ""]);
  expect(performance.now() - begun).toBeLessThan(15_000);
});

test("beyond the limit of connections the one that is idle for longest is closed, and a new one is served", async () => {
  await using server = await startServer({ clientLimits: { maxConnections: 3 } });
  const probe = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
  const connection = async () => {
    const socket = open(server, probe);
    await once(socket, "data");
    return socket;
  };
  const [first, second, third] = [await connection(), await connection(), await connection()];
  first.write(probe); // so that the second is idle for longest
  await once(first, "data");
  const closed = once(second, "close");
  const fourth = await connection();
  await closed;
  for (const socket of [first, third, fourth]) {
    socket.write(probe);
    await once(socket, "data");
    socket.destroy();
  }
});

const ROWS = 2_000;
const addLargeDataset = (server: Server) =>
  addDataset(server, {
    slug: "large",
    columns: [{ name: "a", type: "text" }],
    rows: Array.from({ length: ROWS }, (_, n) => ({ values: { a: `${n} ${"x".repeat(5_000)}` } })),
  });
const read = ({ token }: Server) =>
  `GET /datasets/large HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`;

const connections = ({ app }: Server) =>
  expect.poll(() => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count))), {
    timeout: 15_000,
  });
/** Clients that ask for ten megabytes and read no further than the first bytes. */
const openStopped = (server: Server, count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const socket = open(server, read(server));
      await once(socket, "readable");
      expect(`${socket.read(12)}`).toBe("HTTP/1.1 200");
      return socket;
    }),
  );

test("clients that do not read their answers use up no connections of others", async () => {
  await using server = await startServer({ clientLimits: { maxConnections: 6 } });
  await addLargeDataset(server);
  const probe = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
  const neighbour = open(server, probe);
  await once(neighbour, "data");
  const sockets: Socket[] = [];
  server.app.server.on("connection", (socket) => sockets.push(socket));
  const stopped = await openStopped(server, 5);
  const lengths = () => sockets.map(({ writableLength }) => writableLength);
  let before: number[] = [];
  const areSteady = () => {
    const isSame = lengths().every((length, n) => length > 0 && length === before[n]);
    before = lengths();
    return isSame;
  };
  await vi.waitUntil(areSteady, { interval: 300, timeout: 30_000 }); // they are cut after 200 ms
  for (let n = 0; n < 2; n++) {
    const fresh = open(server, probe);
    expect(`${(await once(fresh, "data"))[0]}`).toContain("HTTP/1.1 200");
    fresh.destroy();
  }
  neighbour.write(probe);
  expect(`${(await once(neighbour, "data"))[0]}`).toContain("HTTP/1.1 200");
  for (const socket of [neighbour, ...stopped]) socket.destroy();
});

test("who does not take an answer keeps no other workspace out", async () => {
  await using server = await startServer({ limits: { maxInFlight: 5 } });
  await addLargeDataset(server);
  const other = await addWorkspace(server, "other");
  const stopped = await openStopped(server, 5);
  const status = async (token: string) =>
    (await fetch(`${server.url}/datasets`, { headers: { authorization: `Bearer ${token}` } })).status;
  expect([await status(server.token), await status(other.token)]).toEqual([503, 200]);
  for (const socket of stopped) socket.destroy();
});

test("who does not take an answer is cut off, and who takes it slowly gets all of it", async () => {
  const clientLimits = { answerMs: 1_500, minBytesPerMs: 100_000, checkMs: 50 };
  await using server = await startServer({ clientLimits });
  await addLargeDataset(server);
  await openStopped(server, 5);
  let taken = 0;
  for await (const { length } of open(server, read(server))) {
    taken += length;
    if (Math.floor(taken / 2_500_000) > Math.floor((taken - length) / 2_500_000)) await wait(200);
  }
  expect(taken).toBeGreaterThan(ROWS * 5_000);
  await connections(server).toBe(0);
});

test("unless it is set, who takes nothing of an answer is cut off after thirty seconds", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
  try {
    await using server = await startServer();
    await addLargeDataset(server);
    const opened = once(server.app.server, "connection");
    await openStopped(server, 1);
    const [socket] = (await opened) as [Socket];
    let length = 0;
    const isSteady = () => {
      const before = length;
      length = socket.writableLength;
      return length > 0 && length === before;
    };
    await vi.waitUntil(isSteady, { interval: 100, timeout: 10_000 });
    // Beside the thirty seconds, what stands ready may take as long as the slowest line needs for it.
    const lineMs = length / CLIENT_LIMITS.minBytesPerMs;
    vi.advanceTimersByTime(CLIENT_LIMITS.checkMs + 29_900 + lineMs);
    expect(socket.destroyed).toBe(false);
    vi.advanceTimersByTime(100 + 2 * CLIENT_LIMITS.checkMs);
    expect(socket.destroyed).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

test("when answers that are not taken hold too much together, the largest are cut off", async () => {
  await using server = await startServer({ clientLimits: { maxWaitingBytes: 100_000, checkMs: 20 } });
  await addLargeDataset(server);
  await openStopped(server, 3);
  await connections(server).toBe(0);
});
