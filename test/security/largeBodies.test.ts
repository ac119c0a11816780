import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { finished } from "node:stream/promises";
import { afterAll, expect, test } from "vitest";
import { startServer } from "../support/server.ts";
import { turnsDuring } from "../support/turns.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const agent = new Agent({ keepAlive: true });
afterAll(() => agent.destroy());

const soon = { timeout: 20_000 };
const MEGABYTE = 1024 * 1024;

/** Sends a body over a connection of its own; gives the status. */
async function send(body: Buffer, path = "/monitor/log"): Promise<number> {
  const headers = { "content-type": "application/json", authorization: `Bearer ${server.token}` };
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

const log = (bytes: number) =>
  Buffer.from(
    JSON.stringify({ slug: "large", input: "x".repeat(bytes), output: "", inputTokens: 1, outputTokens: 1 }),
  );

/** A request of OpenTelemetry with one span. */
const span = (bytes: number) => {
  const attributes = [{ key: "input.value", value: { stringValue: "x".repeat(bytes) } }];
  const ids = { traceId: randomBytes(16).toString("hex"), spanId: randomBytes(8).toString("hex") };
  const spans = [{ ...ids, name: "large", startTimeUnixNano: `${Date.now()}000000`, attributes }];
  return Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
};

test.each([
  ["logs", "/monitor/log", log],
  ["spans of OpenTelemetry", "/v1/traces", span],
])(
  "large bodies of a workspace are answered one after another, and others are accepted between them: %s",
  async (_, path, body) => {
    const several = (bytes: number) => () =>
      Promise.all(Array.from({ length: 8 }, async () => expect(await send(body(bytes), path)).toBe(200)));
    await several(1_000)();
    expect(await turnsDuring(several(0.3 * MEGABYTE))).toBeGreaterThan(7 * 60);
  },
);

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
