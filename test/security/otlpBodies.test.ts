import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { MAX_BODY_BYTES } from "../../src/logs/otlp/bounds.ts";
import { encodeSpans, newSpan, send, TYPES } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";

const MB = 1024 * 1024;
const GZIP = { "content-encoding": "gzip" };

/** A span whose attribute makes its request as long as `bytes`. */
const spanOf = (bytes: number) =>
  newSpan({ attributes: [{ key: "text", value: { stringValue: "x".repeat(bytes) } }] });

test.each(TYPES)(
  "a body of %s that unpacks to more than 64 MB is refused while it is unpacked",
  async (type) => {
    await using server = await startServer();
    const bomb = gzipSync(Buffer.alloc(128 * MB));
    const before = process.memoryUsage().arrayBuffers;
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().arrayBuffers);
    }, 1);
    const { status, answer } = await send(server, bomb, { type, headers: GZIP });
    clearInterval(watch);
    expect({ status, code: answer.code }).toEqual({ status: 413, code: 8 });
    expect(answer.message).toContain("larger than 64 MB after decompression");
    expect(peak - before).toBeLessThan(100 * MB);
    expect(await send(server, encodeSpans([newSpan()], type), { type })).toMatchObject({ status: 200 });
  },
);

test.each(["Content-Length", "Transfer-Encoding"])(
  "a client that sends 65 MB with %s before it reads finds 413, and can go on",
  async (how) => {
    await using server = await startServer();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    const chunk = Buffer.alloc(MB, "x");
    const isChunked = how === "Transfer-Encoding";
    const framed = isChunked ? Buffer.concat([Buffer.from("100000\r\n"), chunk, Buffer.from("\r\n")]) : chunk;
    const length = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${65 * MB}`;
    const head = `POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}${length}\r\n\r\n`);
    const sendChunk = () =>
      new Promise<void>((resolve, reject) => {
        socket.once("error", reject);
        socket.write(framed, () => {
          socket.off("error", reject);
          resolve();
        });
      });
    for (let sent = 0; sent < 65; sent++) await sendChunk();
    socket.write(
      `${isChunked ? "0\r\n\r\n" : ""}GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 .*"code":8,.*HTTP\/1\.1 200 .*"status":"ok"/s);
  },
);

test.each(TYPES)(
  "a request of nearly 64 MB of %s is taken, and others get turns while it is decoded",
  async (type) => {
    await using server = await startServer({ timeLimitMs: 60_000 });
    const spans = Array.from({ length: 10_000 }, () => spanOf(6_000));
    const body = encodeSpans(spans, type);
    expect(body.length).toBeGreaterThan(56 * MB);
    expect(body.length).toBeLessThan(MAX_BODY_BYTES);
    const turn = vi.spyOn(server.database, "turn");
    expect(await send(server, gzipSync(body), { type, headers: GZIP })).toMatchObject({
      status: 200,
      answer: {},
    });
    expect(turn.mock.calls.length).toBeGreaterThan(14 + 5); // joining the body takes 14
    turn.mockRestore();
  },
);

test("nothing of a body is read for a caller without a token", async () => {
  await using server = await startServer();
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write(
    "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n",
  );
  const [answer] = await once(socket, "data"); // although the body never comes
  expect(`${answer}`).toMatch(/^HTTP\/1\.1 401 /);
  expect(`${answer}`).toContain('"code":16');
  socket.destroy();
});
