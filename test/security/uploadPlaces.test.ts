import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { announced, beginPut, put, unfinishedChunks } from "../support/files.ts";
import { startServer } from "../support/server.ts";

vi.setConfig({ testTimeout: 60_000 });

/** The places of uploads that one workspace gets. */
const PLACES = 32;
/** What Node.js has read of the connection, but the body that the route reads has not taken yet: more than 138 kB, less than 190. */
const BYTES = randomBytes(170_000);
const soon = { timeout: 8_000 };

/** Uploads that have their places and wait for their clients, and as many that wait for a place with their whole bodies. */
async function startUploads(timeLimitMs: number) {
  const server = await startServer({ timeLimitMs });
  const requests: IncomingMessage[] = [];
  server.app.server.on("request", (request: IncomingMessage) => requests.push(request));
  const slow: ReturnType<typeof beginPut>[] = [];
  for (let n = 0; n < PLACES; n++) {
    const { uploadUrl } = await announced(server);
    slow.push(beginPut(uploadUrl, { length: 400_000, beginning: randomBytes(300_000) }));
  }
  await expect.poll(() => unfinishedChunks(server), soon).toHaveLength(PLACES);
  const urls = [];
  for (let n = 0; n < PLACES; n++) urls.push((await announced(server)).uploadUrl);
  requests.length = 0;
  const waiting = urls.map((url) => beginPut(url, { length: BYTES.length, beginning: BYTES }));
  const received = () => requests.filter(({ complete, readableLength }) => complete && readableLength > 0);
  await expect.poll(() => received().length, soon).toBe(PLACES);
  return { server, slow, waiting };
}

test.each([
  [
    "whose clients leave",
    10_000,
    async (waiting: ReturnType<typeof beginPut>[]) => {
      for (const { socket } of waiting) socket.destroy();
      await Promise.all(waiting.map(({ closed }) => closed));
      await wait(200); // until the server has seen it
    },
  ],
  [
    "whose time is up",
    5_000,
    async (waiting: ReturnType<typeof beginPut>[]) => {
      for (const { received } of waiting) await expect.poll(received, soon).toContain("HTTP/1.1 503 ");
    },
  ],
])("uploads %s once their bytes have arrived keep no place for ever", async (_, timeLimitMs, end) => {
  const { server, slow, waiting } = await startUploads(timeLimitMs);
  await end(waiting);
  for (const { socket } of slow) socket.destroy();
  await Promise.all(slow.map(({ closed }) => closed));
  const { uploadUrl } = await announced(server);
  expect((await put(uploadUrl, BYTES)).status).toBe(200);
  for (const { socket } of waiting) socket.destroy();
  const closing = server[Symbol.asyncDispose]().then(() => "closed");
  expect(await Promise.race([closing, wait(20_000, "it waits for uploads that never end")])).toBe("closed");
});
