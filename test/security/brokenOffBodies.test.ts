import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createBodies } from "../../src/http/bodies.ts";
import { holdCommits } from "../support/commits.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { type Server, startServer } from "../support/server.ts";

const MB = 1024 * 1024;
/** A body that waits for others longer than that is refused, and leaves the memory in any case. */
const MAX_WAIT_MS = 10_000;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Sends the beginning of a request, and closes the connection after that. */
async function breakOff(
  server: Server,
  head: string[],
  body: Buffer,
  after: () => Promise<unknown>,
): Promise<void> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.on("error", () => {});
  const authorization = `Authorization: Bearer ${server.token}`;
  socket.write(`${[...head, "Host: x", authorization].join("\r\n")}\r\n\r\n`);
  socket.write(body);
  await once(socket, "connect");
  await after();
  socket.destroy();
}

/** A number once it stays the same: what tests before have left is still given back. */
async function settled(count: () => number): Promise<number> {
  for (let last = count(); ; ) {
    await wait(200);
    const now = count();
    if (now === last) return now;
    last = now;
  }
}

test("bodies that clients break off while they are unpacked leave the memory for others", async () => {
  await using server = await startServer({ limits: { maxKeptBytes: 40 * MB } });
  const text = { key: "text", value: { stringValue: "x".repeat(9 * MB) } };
  const packed = gzipSync(encodeSpans([1, 2, 3].map(() => newSpan({ attributes: [text] }))));
  const head = ["POST /v1/traces HTTP/1.1", "Content-Type: application/x-protobuf", "Content-Encoding: gzip"];
  const length = `Content-Length: ${packed.length}`;
  for (let n = 0; n < 20; n++) await breakOff(server, [...head, length], packed, () => wait(n));
  await expect
    .poll(async () => (await send(server, packed, { headers: { "content-encoding": "gzip" } })).status, {
      timeout: 20_000,
    })
    .toBe(200);
});

test("bodies that wait for others leave the memory when their clients close the connection", async () => {
  await using server = await startServer();
  const commits = holdCommits(server);
  const log = Buffer.from(
    JSON.stringify({ slug: "a", output: "x".repeat(0.3 * MB), inputTokens: 1, outputTokens: 1 }),
  );
  const first = server.post("/monitor/log", JSON.parse(`${log}`));
  await expect.poll(commits.begun).toBe(1);
  const held = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers / MB;
  };
  const head = [
    "POST /monitor/log HTTP/1.1",
    "Content-Type: application/json",
    `Content-Length: ${log.length}`,
  ];
  const before = await settled(held);
  const haveArrived = Promise.withResolvers<void>();
  const after = () => haveArrived.promise;
  const all = Promise.all(Array.from({ length: 60 }, () => breakOff(server, head, log, after)));
  await expect.poll(() => held() - before).toBeGreaterThan(8);
  // Each has come to its end, though on a busy machine the first are refused before the last do.
  await settled(held);
  haveArrived.resolve();
  await all;
  await expect.poll(() => held() - before, { timeout: MAX_WAIT_MS - 1_000 }).toBeLessThan(4);
  expect(commits.begun()).toBe(1);
  commits.goOn();
  expect((await first).status).toBe(200);
});

test("a large body whose connection closes while it waits for others is not worked on", async () => {
  const bodies = createBodies(MB);
  const [first, second, third] = [bodies.hold("one"), bodies.hold("one"), bodies.hold("one")];
  await first.waitForOthers(MB);
  const waiting = second.waitForOthers(MB);
  second.release();
  await expect(waiting).rejects.toThrow("closed");
  const next = third.waitForOthers(MB);
  first.release();
  await next;
});
