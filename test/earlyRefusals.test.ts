import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { serve } from "./refusingServer.ts";

const whatIsTold = ({ head, body }: { head: string; body: string }) => [
  ...head.split("\r\n").filter((line) => !/^(?:date|connection|keep-alive):/i.test(line)),
  body,
];

test.each(["/monitor/log", "/graphql", "/graphql?query={a}"])(
  "%s is refused in the same words when Node.js has not read the request",
  async (url) => {
    await using server = await serve({ isFull: () => true });
    const { socket, answers } = await server.open();
    for (let sent = 1; sent <= 5; sent++) {
      socket.write(
        `POST ${url} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}`,
      );
      await expect.poll(() => answers().length).toBe(sent);
    }
    const [first, ...others] = answers().map(whatIsTold);
    expect(first![0]).toBe("HTTP/1.1 503 Service Unavailable");
    for (const other of others) expect(other).toEqual(first);
    expect(server.read.length).toBe(2); // the first, and the one that shows where requests begin
  },
);

test.each([
  ["that is the last on its connection", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"],
  [
    "that wants to be told to go on",
    "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
  ],
  ["of a page", "GET / HTTP/1.1\r\nHost: x\r\nOrigin: https://app.example\r\n\r\n"],
  ["in chunks", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["with two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"],
  ["with a length that is none", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +0\r\n\r\n"],
  ["with a header on two lines", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"],
  ["with a line that ends otherwise", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"],
  ["with a NUL", "GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n"],
  ["for another protocol", "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n"],
  ["of another version", "GET / HTTP/1.0\r\n\r\n"],
  ["of another method", "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["with a method in small letters", "get / HTTP/1.1\r\nHost: x\r\n\r\n"],
  ["that is the last of a proxy", "GET / HTTP/1.1\r\nHost: x\r\nProxy-Connection: close\r\n\r\n"],
  ["with a long head", `GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(9_000)}\r\n\r\n`],
  ["and the half of another", "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n"],
])("a request %s is left to Node.js", async (_, bytes) => {
  await using server = await serve({ isFull: () => true });
  const connection = await server.open();
  await learn(connection);
  const { socket, answers, send } = connection;
  await send(PLAIN);
  await expect.poll(() => answers().length).toBe(3);
  expect(server.read.length).toBe(2);
  socket.write(bytes);
  await expect
    .poll(() => server.read.length > 2 || answers().at(-1)!.head.startsWith("HTTP/1.1 400"))
    .toBe(true);
});

const PLAIN = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
/** What a whole request after it becomes a part of. */
const UNFINISHED = "GET /unfinished HTTP/1.1\r\nX: ";

/** More than Node.js reads before anybody asks for it. */
const large = (bytes: number) =>
  `POST /large HTTP/1.1\r\nContent-Length: ${bytes}\r\n\r\n${"x".repeat(bytes)}`;

/** Sends what the server learns from where requests begin, each as soon as the one before was answered. */
async function learn({ send, answers }: { send(bytes: string): Promise<void>; answers(): unknown[] }) {
  for (const _ of [1, 2]) {
    const before = answers().length;
    await send(PLAIN);
    await expect.poll(() => answers().length).toBe(before + 1);
  }
}

/** A connection whose requests the server knows apart, and which answers only when it is told to. */
async function serveSlowly() {
  let isFull = true;
  const slow: ServerResponse[] = [];
  const server = await serve({
    isFull: () => isFull,
    answer: (_, response) => void slow.push(response),
  });
  const connection = await server.open();
  await learn(connection);
  const setFull = (value: boolean) => {
    isFull = value;
  };
  setFull(false);
  return { ...server, ...connection, slow, setFull };
}

test.each([
  ["refused", true],
  ["served", false],
])("what ends a request that began together with one that was %s is none of its own", async (_, refuses) => {
  let isFull = true;
  await using server = await serve({ isFull: () => isFull });
  const connection = await server.open();
  await learn(connection);
  const { send, answers } = connection;
  isFull = refuses;
  await send(PLAIN + UNFINISHED);
  await expect.poll(() => answers().length).toBe(3);
  isFull = true;
  await send(PLAIN);
  await expect.poll(() => answers().length).toBe(4);
  expect(server.read).toEqual(["/", "/", "/", "/unfinished"]);
});

test("what comes as the body of a request that was refused before is none", async () => {
  await using server = await serve({ isFull: () => true });
  const { send, answers } = await server.open();
  await send(`${PLAIN}POST /unfinished HTTP/1.1\r\nContent-Length: ${PLAIN.length}\r\nX: `);
  for (const answered of [2, 2, 3]) {
    await send(PLAIN);
    await expect.poll(() => answers().length).toBe(answered);
  }
  expect(server.read).toEqual(["/", "/unfinished", "/"]);
});

test("what looks like a request in the body of another is none", async () => {
  await using server = await serve({ isFull: () => true });
  const { send, answers } = await server.open();
  const inside = `GET /inside HTTP/1.1\r\n\r\n${UNFINISHED}`;
  const body = `POST / HTTP/1.1\r\nContent-Length: ${inside.length}\r\n\r\n`;
  await send(`POST /first HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n`);
  await send(body + inside);
  await expect.poll(() => answers().length).toBe(2);
  await send(PLAIN);
  await expect.poll(() => answers().length).toBe(3);
  expect(server.read).toEqual(["/first", "/inside", "/unfinished"]);
});

test("an answer tells nothing of what was sent before it was given", async () => {
  await using server = await serveSlowly();
  const { send, answers, slow, setFull } = server;
  await send("GET /slow HTTP/1.1\r\n\r\n");
  await send(UNFINISHED);
  slow[0]!.end();
  await expect.poll(() => answers().length).toBe(3);
  setFull(true);
  await send(PLAIN);
  await expect.poll(() => answers().length).toBe(4);
  expect(server.read).toEqual(["/", "/", "/slow", "/unfinished"]);
});

test("who does not take refusals is given no more of them than Node.js would give", async () => {
  await using server = await serve({ isFull: () => true });
  const connection = await server.open();
  await learn(connection);
  const { send, taken } = connection;
  taken.cork(); // as if the client took nothing
  await send(PLAIN);
  expect(server.read.length).toBe(2);
  await send(PLAIN);
  expect(server.read.length).toBe(3);
});

test("what had come before a request that ends the connection, or with it, is not read any more", async () => {
  await using server = await serveSlowly();
  const { socket, slow } = server;
  const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve)); // maybe by a reset
  socket.write(large(140_000)); // Node.js stops reading before the end of it
  await expect.poll(() => slow.length).toBe(1);
  await wait(20);
  socket.write("CONNECT a:1 HTTP/1.1\r\n\r\n");
  await wait(20);
  socket.write(PLAIN);
  await wait(20);
  slow[0]!.end();
  await closed;
  expect(server.read.length).toBe(3);
});

test("nothing is read any more of what had come after a request that ends the connection", async () => {
  await using server = await serveSlowly();
  const { socket, taken, send, slow } = server;
  const closed = new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
  await send("GET /large HTTP/1.1\r\n\r\n");
  taken.cork(); // as if the client took nothing
  slow[0]!.write("x".repeat(200_000));
  await send(PLAIN); // with so much to be taken, Node.js pauses
  await send("CONNECT a:1 HTTP/1.1\r\n\r\n");
  await send(PLAIN);
  expect(server.read.slice(2)).toEqual(["/large", "/"]);
  slow[0]!.end();
  slow[1]!.end();
  while (taken.writableCorked > 0) taken.uncork();
  await closed;
  expect(server.read.slice(2)).toEqual(["/large", "/"]);
});

test("an answer that was given up is none, and nothing is written into the one before it", async () => {
  await using server = await serveSlowly();
  const { send, answers, slow, setFull } = server;
  await send("GET /slow HTTP/1.1\r\n\r\n");
  await send("GET /broken HTTP/1.1\r\n\r\n");
  slow[1]!.destroy();
  await once(slow[1]!, "close");
  setFull(true);
  await send(PLAIN);
  expect(answers().length).toBe(2);
  expect(server.read).toEqual(["/", "/", "/slow", "/broken", "/"]);
});

test("who takes no answer for a while is served when it has taken what there was", async () => {
  let taken: Socket | undefined;
  const server = await serve({
    isFull: () => server.read.length === 1, // for the first one
    answer: (_, response) => {
      taken!.cork(); // as if the client took nothing
      response.end("x".repeat(200_000));
    },
  });
  await using _ = server;
  const connection = await server.open();
  const { send, answers } = connection;
  taken = connection.taken;
  await send(PLAIN + PLAIN + PLAIN);
  await wait(20); // until it would be taken over
  while (taken.writableCorked > 0) taken.uncork();
  await expect.poll(() => answers().length).toBe(3);
  await send(PLAIN);
  while (taken.writableCorked > 0) taken.uncork();
  await expect.poll(() => answers().length).toBe(4);
});

test("who is refused while Node.js goes on after a pause is served later", async () => {
  const slow: ServerResponse[] = [];
  const server = await serve({
    isFull: () => server.read.length > 1,
    answer: (_, response) => void slow.push(response),
  });
  await using _ = server;
  const { socket, answers } = await server.open();
  socket.write(large(100_000) + PLAIN); // Node.js stops reading, and goes on with the end of it
  await expect.poll(() => server.read.length).toBe(2);
  slow[0]!.end();
  await expect.poll(() => answers().length).toBe(2);
  socket.write(PLAIN);
  await expect.poll(() => answers().length).toBe(3);
});
