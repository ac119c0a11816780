import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { joinChunks } from "../../src/http/chunks.ts";
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

test("of many bodies in tiny chunks that arrive at once few are refused in a turn", async () => {
  const turns = countTurns();
  const refused: number[] = [];
  let begun = 0;
  server.app.server.on("request", (_, response) => {
    begun += 1;
    response.once("prefinish", () => response.statusCode === 400 && refused.push(turns.now()));
  });
  const bodies = Array.from({ length: 64 }, () => open(authorization));
  await expect.poll(() => begun, soon).toBe(64);
  for (const { socket } of bodies) socket.write(chunk(" ").repeat(400));
  await expect.poll(() => refused.length, soon).toBe(64);
  turns.stop();
  for (const ofTurn of Map.groupBy(refused, (turn) => turn).values())
    expect(ofTurn.length).toBeLessThanOrEqual(8);
  for (const { socket } of bodies) socket.destroy();
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
