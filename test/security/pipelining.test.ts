import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
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

test("of requests that arrive at once few begin in a turn, and a workspace does not wait for those of others", async () => {
  const asked = `GET /datasets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`;
  const known = open();
  known.socket.write(asked);
  await expect.poll(known.received).toMatch(/^HTTP\/1\.1 200 /);
  const unknown = Array.from({ length: 600 }, () => open());
  await expect
    .poll(() => new Promise((resolve) => server.app.server.getConnections((_, count) => resolve(count))))
    .toBeGreaterThan(600);
  const turns = countTurns();
  const begun: { turn: number; isKnown: boolean }[] = [];
  const count = ({ headers }: IncomingMessage) =>
    begun.push({ turn: turns.now(), isKnown: headers.authorization !== undefined });
  server.app.server.on("request", count);
  for (const { socket } of unknown) socket.write("GET /datasets HTTP/1.1\r\nHost: x\r\n\r\n");
  known.socket.write(asked);
  await expect.poll(() => begun.length).toBe(601);
  server.app.server.off("request", count);
  turns.stop();
  const inTurns = Map.groupBy(begun, ({ turn }) => turn);
  // 50 that arrive in it, and 50 that waited.
  for (const ofTurn of inTurns.values()) expect(ofTurn.length).toBeLessThanOrEqual(100);
  const before = [...inTurns.values()].findIndex((ofTurn) => ofTurn.some(({ isKnown }) => isKnown));
  expect(before).toBeLessThan(4);
  for (const { socket } of [known, ...unknown]) socket.destroy();
});
