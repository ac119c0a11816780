import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { joinChunks } from "../../src/http/chunks.ts";
import { ParsedRequest } from "../../src/http/slices.ts";
import { startServer } from "../support/server.ts";
import { countTurns } from "../support/turns.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const TINY = chunk(" ").repeat(10_000);
const LARGE = chunk("x".repeat(64 * 1024));

/** Sends the headers of a request with a chunked body, and the chunks that it begins with in the same packet. */
function open(headers: string, { method = "POST", path = "/monitor/log", chunks = "" } = {}) {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let received = "";
  let isClosed = false;
  socket.on("error", () => {}); // it is closed
  socket.on("close", () => {
    isClosed = true;
  });
  socket.on("data", (bytes) => {
    received += bytes;
  });
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n${headers}\r\n${chunks}`,
  );
  return { socket, received: () => received, isClosed: () => isClosed };
}

/** Opens so many, and waits until their requests have begun. */
async function openTogether(count: number, headers: string): Promise<Socket[]> {
  let begun = 0;
  const countRequest = () => {
    begun += 1;
  };
  server.app.server.on("request", countRequest);
  const sockets = Array.from({ length: count }, () => open(headers).socket);
  await expect.poll(() => begun, soon).toBeGreaterThanOrEqual(count);
  server.app.server.off("request", countRequest);
  return sockets;
}

const authorization = `Authorization: Bearer ${server.token}\r\n`;
const soon = { timeout: 10_000 };

test("small chunks are joined to pieces of 16 kB, and large ones stay as they are", () => {
  const joined = joinChunks();
  const small = Array.from({ length: 300 }, (_, n) => Buffer.alloc(64, n));
  const pieces = small.flatMap((one) => joined.add(one) ?? []);
  const rest = joined.rest();
  expect([...pieces, rest].map((piece) => piece?.length)).toEqual([16_384, 44 * 64]);
  expect(Buffer.concat([...pieces, rest!])).toEqual(Buffer.concat(small));
  const large = Buffer.alloc(64 * 1024);
  expect(joined.add(large)).toBe(large);
  expect(joined.rest()).toBeUndefined();
});

test("others are served after each 64 chunks of a body, however short they are", async () => {
  const turns = vi.spyOn(globalThis, "setImmediate");
  const body = JSON.stringify({ slug: "x", output: "x".repeat(300_000) });
  const chunks = body
    .match(/.{1,64}/g)!
    .map(chunk)
    .join("");
  const { socket, received } = open(authorization, { chunks: `${chunks}0\r\n\r\n` });
  await expect.poll(received, soon).toMatch(/^HTTP\/1\.1 200 /);
  const ofBodies = (turns.mock.calls as unknown as [unknown, unknown, { waiting?: unknown }?][]).filter(
    ([, , lane]) => lane?.waiting,
  );
  turns.mockRestore();
  socket.destroy();
  expect(ofBodies.length).toBeGreaterThan(60); // of 4,688 chunks; 4 of 64 kB each
});

test("a body in tiny chunks is refused, and its connection is closed when more of them follow", async () => {
  const { socket, received, isClosed } = open(authorization);
  socket.write(TINY);
  await expect
    .poll(received, soon)
    .toMatch(/^HTTP\/1\.1 400 .*fewer than 60 bytes on average.*"BAD_REQUEST"/s);
  socket.write(TINY);
  await expect.poll(isClosed, soon).toBe(true);
});

/** How many chunks arrive in each turn of the event loop, until `stop` says it. */
function countArrivals() {
  const turns = countTurns();
  const arrived: number[] = [];
  const { push } = ParsedRequest.prototype;
  const spy = vi.spyOn(ParsedRequest.prototype, "push").mockImplementation(function (
    this: ParsedRequest,
    bytes,
  ) {
    if (bytes !== null) arrived.push(turns.now());
    return push.call(this, bytes);
  });
  const stop = () => {
    spy.mockRestore();
    turns.stop();
    return [...Map.groupBy(arrived, (turn) => turn).values()].map(({ length }) => length);
  };
  return { count: () => arrived.length, stop };
}

test("the chunks of all connections together share the turns of the event loop, with a token and without one", async () => {
  for (const headers of [authorization, ""]) {
    const sockets = await openTogether(30, headers);
    const arrivals = countArrivals();
    for (const socket of sockets) socket.write(chunk("x".repeat(64)).repeat(900));
    await expect.poll(arrivals.count, soon).toBeGreaterThan(20_000);
    for (const socket of sockets) socket.destroy();
    const ofTurns = arrivals.stop();
    expect(Math.max(...ofTurns)).toBeLessThan(4_000); // 2,000, and the first slices of each packet
  }
});

test("chunks that wait for those of others are read in their order", async () => {
  const served: Socket[] = [];
  server.app.server.on("connection", (socket) => served.push(socket));
  const outputs = Array.from({ length: 30 }, (_, n) => `${n} `.repeat(60_000));
  const bodies = outputs.map((output) => JSON.stringify({ slug: "chunked", output }));
  // Node.js resumes a connection of its own accord, too.
  const resuming = setInterval(() => {
    for (const socket of served) socket.resume();
  }, 1);
  const sent = bodies.map(async (body) => {
    const { socket, received } = open(authorization);
    socket.write(
      `${body
        .match(/.{1,64}/g)!
        .map(chunk)
        .join("")}0\r\n\r\n`,
    );
    await expect.poll(received, { timeout: 30_000 }).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
  await Promise.all(sent);
  clearInterval(resuming);
  const logs = await server.run('{ logs(first: 31, filter: { slug: "chunked" }) { nodes { output } } }');
  expect(logs).toHaveLength(30);
  expect(new Set(logs.map(({ output }: { output: string }) => output))).toEqual(new Set(outputs));
});

test("a small body of known length does not wait for the chunks of others", async () => {
  const { hostname, port } = new URL(server.url);
  const small = connect(Number(port), hostname);
  const body = JSON.stringify({ slug: "small" });
  small.write(
    `POST /monitor/log HTTP/1.1\r\nHost: x\r\n${authorization}Content-Length: ${body.length}\r\n\r\n`,
  );
  const sockets = await openTogether(300, "");
  const turns = countTurns();
  let chunks = 0;
  let [sentAt, readAt] = [0, 0];
  const { push } = ParsedRequest.prototype;
  const spy = vi.spyOn(ParsedRequest.prototype, "push").mockImplementation(function (
    this: ParsedRequest,
    bytes,
  ) {
    if (`${bytes}` === body) readAt = turns.now();
    else if (bytes !== null) chunks += 1;
    // Others wait by now.
    if (chunks === 4_000 && sentAt === 0) {
      sentAt = turns.now();
      small.write(body);
    }
    return push.call(this, bytes);
  });
  for (const socket of sockets) socket.write(chunk("x".repeat(64)).repeat(120));
  await expect.poll(() => chunks, soon).toBeGreaterThan(30_000);
  spy.mockRestore();
  turns.stop();
  for (const socket of [small, ...sockets]) socket.destroy();
  expect(readAt).toBeGreaterThan(0);
  expect(readAt - sentAt).toBeLessThan(4);
});

test("of many bodies in tiny chunks that arrive at once few are refused in a turn", async () => {
  const turns = countTurns();
  const refused: number[] = [];
  server.app.server.on("request", (_, response) => {
    response.once("prefinish", () => response.statusCode === 400 && refused.push(turns.now()));
  });
  const sockets = await openTogether(64, authorization);
  for (const socket of sockets) socket.write(chunk(" ").repeat(400));
  await expect.poll(() => refused.length, soon).toBe(64);
  turns.stop();
  for (const ofTurn of Map.groupBy(refused, (turn) => turn).values())
    expect(ofTurn.length).toBeLessThanOrEqual(8);
  for (const socket of sockets) socket.destroy();
});

test.each([
  { what: "without a token", headers: "", status: 401 },
  {
    what: "to a route that reads none",
    headers: authorization,
    method: "GET",
    path: "/datasets",
    status: 200,
  },
  { what: "to a path that does not exist", headers: authorization, path: "/nothing", status: 404 },
  { what: "to an invalid URL", headers: "", path: "/%zz", status: 400 },
])("the connection of a body of tiny chunks $what is closed", async ({ headers, method, path, status }) => {
  const { socket, received, isClosed } = open(headers, { ...(method && { method }), ...(path && { path }) });
  await expect.poll(received, soon).toContain(`HTTP/1.1 ${status} `);
  socket.write(TINY);
  await expect.poll(isClosed, soon).toBe(true);
});

test.each([
  { whose: "without a token", headers: "", status: 401 },
  { whose: "with an unknown token", headers: "Authorization: Bearer unknown\r\n", status: 401 },
  { whose: "with a token", headers: authorization, status: 400 },
])(
  "of tiny chunks that come with the headers Node.js parses no more than 250 and a slice, $whose",
  async ({ headers, status }) => {
    let parsed = 0;
    server.app.server.once("request", (request) => {
      const { push } = request;
      request.push = (...chunk) => {
        parsed += 1;
        return push.apply(request, chunk);
      };
    });
    const { socket, received, isClosed } = open(headers, { chunks: TINY });
    await expect.poll(isClosed, soon).toBe(true);
    expect(received()).toContain(`HTTP/1.1 ${status} `);
    expect(parsed).toBeGreaterThan(250);
    expect(parsed).toBeLessThan(250 + 2 * 340);
    socket.destroy();
  },
);

test.each([
  { whose: "without a token", headers: "", status: 401 },
  { whose: "with a token", headers: authorization, status: 200 },
])(
  "64 kB of extensions that are longer than the data of their chunks close a connection, $whose",
  async ({ headers, status }) => {
    const withExtension = (length: number) => `64;${"a".repeat(length)}\r\n${" ".repeat(100)}\r\n`;
    const end = `${chunk(JSON.stringify({ slug: "x", output: "y" }))}0\r\n\r\n`;
    const short = open(headers, { chunks: withExtension(80).repeat(2_000) + end });
    await expect.poll(short.received, soon).toContain(`HTTP/1.1 ${status} `);
    expect(short.isClosed()).toBe(false);
    short.socket.destroy();

    const long = open(headers, { chunks: withExtension(15_000).repeat(10) });
    await expect.poll(long.isClosed, soon).toBe(true);
  },
);

test("64 kB behind tiny chunks a connection is closed, also when its answer never ends", async () => {
  const path = "/prompts/country-guide/events";
  const { socket, received, isClosed } = open(authorization, { method: "GET", path, chunks: TINY });
  await expect.poll(received, soon).toContain("data: ");
  socket.write("x".repeat(60 * 1024));
  await wait(50);
  expect(isClosed()).toBe(false);
  socket.write("x".repeat(8 * 1024));
  await expect.poll(isClosed, soon).toBe(true);
});

test.each([
  { what: "a response", path: "/monitor/log", status: 401 },
  { what: "a response to an invalid URL", path: "/%zz", status: 400 },
])("after $what 16 MB of the body are read, and no more", async ({ path, status }) => {
  const { socket, received, isClosed } = open("", { path });
  await expect.poll(received, soon).toContain(`HTTP/1.1 ${status} `);
  const send = (count: number) =>
    new Promise((resolve) => {
      for (let n = 1; n < count; n++) socket.write(LARGE);
      socket.write(LARGE, resolve);
    });
  await send(200);
  expect(isClosed()).toBe(false);
  await send(100);
  await expect.poll(isClosed, soon).toBe(true);
});

test.each([
  [12_000, 5],
  [60_000, 25],
])("a body of %s bytes with its length is accepted in packets of %s bytes", async (length, packet) => {
  const body = JSON.stringify({ slug: "x", output: "y".repeat(length) });
  const { hostname, port } = new URL(server.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes;
  });
  socket.write(
    `POST /monitor/log HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${authorization}Content-Length: ${body.length}\r\n\r\n`,
  );
  for (let from = 0; from < body.length; from += packet) {
    socket.write(body.slice(from, from + packet));
    await wait(1); // or else they would arrive together
  }
  await expect.poll(() => received, soon).toContain("HTTP/1.1 200 ");
  socket.destroy();
});

test.each([64, 100])("a body in thousands of chunks of %s bytes is accepted", async (size) => {
  const { socket, received } = open(authorization);
  const body = JSON.stringify({ slug: "x", output: "y".repeat(200_000) });
  for (let from = 0; from < body.length; from += size) socket.write(chunk(body.slice(from, from + size)));
  socket.write("0\r\n\r\n");
  await expect.poll(received, soon).toContain("HTTP/1.1 200 ");
  socket.destroy();
});
