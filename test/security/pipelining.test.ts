import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { startServer } from "../support/server.ts";
import { countTurns } from "../support/turns.ts";

const server = await startServer();

function open(options: { allowHalfOpen?: boolean } = {}) {
  const { hostname, port } = new URL(server.url);
  const socket = connect({ host: hostname, port: Number(port), ...options });
  let received = "";
  socket.on("error", () => {}); // it is cut off
  socket.on("data", (chunk) => {
    received += chunk;
  });
  return { socket, received: () => received };
}

type Client = ReturnType<typeof open>;

const HEALTH = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";

test("requests that wait for the answer before are served on one connection", async () => {
  const { socket, received } = open();
  for (let n = 1; n <= 20; n++) {
    socket.write(HEALTH);
    await expect.poll(() => received().match(/HTTP\/1\.1 200 /g)?.length).toBe(n);
  }
  socket.destroy();
});

test("a connection on which a request is sent before the one before is answered is cut off", async () => {
  const { socket } = open();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(HEALTH.repeat(3_000));
  await closed;
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
});

test("of thousands of requests in one packet Node.js parses no more than a slice holds", async () => {
  let parsed = 0;
  const count = () => {
    parsed += 1;
  };
  server.app.server.on("request", count);
  const { socket } = open();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write("GET / HTTP/1.1\r\n\r\n".repeat(3_640));
  await closed;
  expect(parsed).toBeGreaterThan(1);
  expect(parsed).toBeLessThan(130);
  server.app.server.off("request", count);
});

test("what follows invalid HTTP in the same packet is not parsed, so that the error arrives whole", async () => {
  let errors = 0;
  const count = () => {
    errors += 1;
  };
  server.app.server.on("clientError", count);
  const { socket, received } = open();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write("\r\nnot HTTP\r\n".repeat(5_000));
  await closed;
  expect(received()).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"\}$/s);
  expect(errors).toBe(1);
  server.app.server.off("clientError", count);
});

test.each([
  ["invalid HTTP", "\0", 400],
  [
    "an upgrade that is not made",
    HEALTH.replace("\r\n\r\n", "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
    200,
  ],
])("behind %s 64 kB are read, and no more", async (_, head, status) => {
  const { socket, received } = open({ allowHalfOpen: true });
  socket.write(head);
  await expect.poll(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  socket.write("\0".repeat(60 * 1024));
  await wait(50);
  expect(socket.destroyed).toBe(false);
  socket.write("\0".repeat(100 * 1024));
  // Who has got the end of all answers learns that the connection is closed when it writes.
  const isClosed = () => {
    if (!socket.destroyed) socket.write("\0");
    return socket.destroyed;
  };
  await expect.poll(isClosed, { timeout: 5_000 }).toBe(true); // after 10 s it would be too slow
});

test("a request behind a subscription ends both, so that no answer gathers behind one that never ends", async () => {
  const { socket, received } = open();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const body = JSON.stringify({ query: "subscription { logAdded { id } }" });
  const head = `Host: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nAccept: text/event-stream`;
  socket.write(`POST /graphql HTTP/1.1\r\n${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await expect.poll(received).toContain("text/event-stream");
  await wait(10);
  expect(socket.destroyed).toBe(false);
  socket.write(HEALTH);
  await closed;
});

const connections = () =>
  new Promise<number>((resolve) => server.app.server.getConnections((_, count) => resolve(count)));

const asked = `GET /datasets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`;
// In several slices while others wait, and in one when they do not.
const headOf = (length: number) =>
  `GET /datasets HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(length)}\r\n\r\n`;
const unknownHead = headOf(600);

/** On how many requests each turn begins, while `send` has 600 connections and one of a workspace ask at once. */
async function beginTogether(known: Client, unknown: Client[], send: (socket: Socket) => void) {
  const turns = countTurns();
  const begun: { turn: number; isKnown: boolean }[] = [];
  const count = ({ headers }: IncomingMessage) =>
    begun.push({ turn: turns.now(), isKnown: headers.authorization !== undefined });
  server.app.server.on("request", count);
  for (const { socket } of unknown) send(socket);
  known.socket.write(asked);
  await expect.poll(() => begun.length).toBe(unknown.length + 1);
  server.app.server.off("request", count);
  turns.stop();
  return [...Map.groupBy(begun, ({ turn }) => turn).values()];
}

test.each([
  { what: "requests", first: "", last: unknownHead, most: 50 },
  { what: "requests with long heads", first: "", last: headOf(14_600), most: 10 },
  {
    what: "requests behind the rest of a body that was refused",
    first: "POST /monitor/log HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{",
    last: `}${unknownHead}`,
    most: 50,
  },
])(
  "of $what that arrive at once few begin in a turn, and a workspace does not wait for those of others",
  async ({ first, last, most }) => {
    const known = open();
    known.socket.write(asked);
    await expect.poll(known.received).toMatch(/^HTTP\/1\.1 200 /);
    const unknown = Array.from({ length: 600 }, () => open());
    await expect.poll(connections).toBeGreaterThan(600);
    const refusals = first === "" ? 1 : 2;
    for (const { socket } of unknown) socket.write(first);
    const refused = () =>
      unknown.flatMap(({ received }) => received().match(/HTTP\/1\.1 (?:401|503) /g) ?? []).length;
    await expect.poll(refused).toBe(600 * (refusals - 1));
    const ofTurns = await beginTogether(known, unknown, (socket) => socket.write(last));
    // Those that arrive in it, and those that waited.
    for (const ofTurn of ofTurns) expect(ofTurn.length).toBeLessThanOrEqual(2 * most);
    const before = ofTurns.findIndex((ofTurn) => ofTurn.some(({ isKnown }) => isKnown));
    expect(before).toBeLessThan(4);
    await expect.poll(refused).toBe(600 * refusals);
    for (const { socket } of [known, ...unknown]) socket.destroy();
  },
);

test("a connection that waits for its turn is not read on while nobody reads its body", async () => {
  const served: Socket[] = [];
  const keep = (socket: Socket) => served.push(socket);
  server.app.server.on("connection", keep);
  const clients = Array.from({ length: 200 }, () => open());
  for (const { socket } of clients)
    socket.write("POST /monitor/log HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n");
  const refused = () => clients.filter(({ received }) => received().startsWith("HTTP/1.1 401 ")).length;
  await expect.poll(refused).toBe(200);
  const startedAt = performance.now();
  const part = Buffer.alloc(3_000_000);
  for (const { socket } of clients) socket.write(part);
  await wait(2_000);
  const read = served.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  const seconds = (performance.now() - startedAt) / 1_000;
  for (const { socket } of clients) socket.destroy();
  server.app.server.off("connection", keep);
  // 16 MB a second of all, and what each has in a packet and in its request.
  expect(read).toBeLessThan(16_000_000 * seconds + 200 * 300_000);
});

test("of connections that end in the middle of a request few end in a turn, without an answer", async () => {
  const turns = countTurns();
  const ended: number[] = [];
  const count = () => ended.push(turns.now());
  server.app.server.on("clientError", count);
  const clients = Array.from({ length: 600 }, () => open());
  await expect.poll(connections).toBeGreaterThanOrEqual(600);
  for (const { socket } of clients) socket.write("GET /datasets HTTP/1.1\r\nHost: x\r\n");
  await wait(200);
  for (const { socket } of clients) socket.end();
  await expect.poll(() => ended.length).toBe(600);
  server.app.server.off("clientError", count);
  turns.stop();
  for (const ofTurn of Map.groupBy(ended, (turn) => turn).values())
    expect(ofTurn.length).toBeLessThanOrEqual(100);
  await expect.poll(() => clients.every(({ socket }) => socket.destroyed)).toBe(true);
  expect(new Set(clients.map(({ received }) => received()))).toEqual(new Set([""]));
});

const sendLog = (body: string) =>
  `POST /monitor/log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test.each([
  ["a-brace", "}", 1],
  ["a-space", " ", 1],
  ["a-line", "\r\nnot HTTP\r\n", 1],
  ["headers-of-20-kB", headOf(20_000), 1],
  ["a-brace-behind-several-slices", "}", 100_000],
  ["a-brace-behind-a-body-that-waits-for-large-ones", "}", 300_000],
])(
  "a request gets its own answer whatever follows it, and then its connection is closed: %s",
  async (slug, rest, length) => {
    const { socket, received } = open();
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const output = "x".repeat(length);
    socket.write(sendLog(JSON.stringify({ slug, output })) + rest);
    await closed;
    expect(received()).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
    expect(received().match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(await server.run(`{ logs(filter: { slug: "${slug}" }) { nodes { output } } }`)).toEqual([
      { output },
    ]);
  },
);

test("an answer that has begun arrives whole whatever follows its request, and then the connection is closed", async () => {
  const output = "x".repeat(9_000_000); // two are more than connections hold
  for (const _ of "12") await server.post("/monitor/log", { slug: "long-answer", output });
  const { socket, received } = open();
  const refused = new Promise<void>((resolve) => server.app.server.once("clientError", () => resolve()));
  const query = encodeURIComponent('{ logs(filter: { slug: "long-answer" }) { nodes { output } } }');
  socket.once("data", () => {
    socket.pause();
    socket.write("}");
  });
  socket.write(
    `GET /graphql?query=${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`,
  );
  await refused;
  socket.resume();
  await expect.poll(received).toMatch(/\}$/);
  await expect.poll(() => socket.destroyed, { timeout: 5_000 }).toBe(true); // after 10 s it would have been idle
  const [head, body] = received().split("\r\n\r\n", 2);
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  expect(JSON.parse(body!).data.logs.nodes.map((log: { output: string }) => log.output.length)).toEqual([
    output.length,
    output.length,
  ]);
});

test("a body that breaks off in what is no HTTP is refused, and stores nothing", async () => {
  const { socket, received } = open();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const body = JSON.stringify({ slug: "broken-chunks", output: 1 });
  const chunked = sendLog(body).replace(/Content-Length.*/s, "Transfer-Encoding: chunked\r\n\r\n");
  socket.write(`${chunked}${body.length.toString(16)}\r\n${body}\r\n}`);
  await closed;
  expect(received()).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"\}$/s);
  expect(await server.run('{ logs(filter: { slug: "broken-chunks" }) { nodes { id } } }')).toEqual([]);
});
