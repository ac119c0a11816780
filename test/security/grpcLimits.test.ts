import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from "node:http2";
import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import grpc from "@grpc/grpc-js";
import { afterEach, expect, test, vi } from "vitest";
import { callHeaders, endOfCall, openHttp2, reset, sendFrames } from "../support/http2Frames.ts";
import { encodeSpans, newSpan } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { startServer } from "../support/server.ts";
import { turnsDuring } from "../support/turns.ts";

const { status: codes } = grpc;
const CANCEL = constants.NGHTTP2_CANCEL;
afterEach(() => vi.restoreAllMocks());

const MB = 1024 * 1024;
const spans = encodeSpans([newSpan()]);

const TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** A call whose message does not come. */
function beginCall(session: ClientHttp2Session, token: string, headers = {}): ClientHttp2Stream {
  const stream = session.request(
    {
      ":method": "POST",
      ":path": TRACES,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    { endStream: false },
  );
  stream.on("error", () => {}); // it is cut off
  return stream;
}

/** Has timers of so many milliseconds end at once; longer ones of the same connection would end it before. */
function shortenTimers(longMs: number, belowMs = longMs * 1.5): void {
  const { setTimeout: original } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms = 0, ...args: []) =>
    original(work, ms >= longMs && ms < belowMs ? 50 : ms, ...args)) as typeof setTimeout);
}

/** A message behind its prefix. */
function framed(message: Buffer, isPacked = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = Number(isPacked);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

test.each([
  ["its call is cancelled", (call: ClientHttp2Stream) => call.close(CANCEL)],
  ["its connection is closed", (_: ClientHttp2Stream, session: ClientHttp2Session) => session.destroy()],
])("what a message unpacks to counts while it arrives, and no longer when %s", async (_, end) => {
  await using server = await startServer({ limits: { maxKeptBytes: 2 * MB } });
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const packed = framed(gzipSync(randomBytes(0.9 * MB)), true);
  let wasRefused = false;
  const begin = async () => {
    wasRefused = false;
    const call = beginCall(session, server.token, { "grpc-encoding": "gzip" });
    call.once("response", () => {
      wasRefused = true;
    });
    // Called back once the service has taken it, but for what one window of HTTP/2 holds.
    await new Promise((resolve) => call.write(packed.subarray(0, -1_000), resolve));
    return call;
  };
  let call = await begin();
  const spansOf = (bytes: number) => encodeSpans([newSpan({ name: "x".repeat(bytes) })]);
  const sendBeside = async () => {
    if (wasRefused) call = await begin(); // as the other one was read at the same time
    return client.send(spansOf(MB / 2), { compression: "gzip" });
  };
  await expect
    .poll(sendBeside)
    .toMatchObject({ code: codes.UNAVAILABLE, details: expect.stringContaining("overloaded") });
  end(call, session);
  await expect.poll(() => client.send(spansOf(MB))).toMatchObject({ code: codes.OK });
  session.destroy();
});

test("a call whose message takes longer than 30 seconds is ended", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK }); // loads gRPC
  shortenTimers(30_000);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const [headers] = await once(beginCall(session, server.token), "response");
  expect(headers["grpc-status"]).toBe(String(codes.UNAVAILABLE));
  session.destroy();
});

test("a connection has 100 calls at once", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const [settings] = await once(session, "remoteSettings");
  expect(settings.maxConcurrentStreams).toBe(100);
  session.destroy();
});

/** A call of which the client reads no answer. */
async function callUnread(port: number, token: string) {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  const call = beginCall(session, token);
  call.end(framed(spans));
  return { session, call };
}

test("a call whose client does not read its answer ends 30 seconds later, and leaves the others of its connection", async () => {
  await using server = await startServer({ limits: { maxInFlight: 1 } });
  using client = await connectGrpc(server);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  shortenTimers(30_000);
  const { session, call } = await callUnread(client.port, server.token);
  await once(call, "close");
  await expect.poll(() => client.send(spans)).toMatchObject({ code: codes.OK });
  expect(session.closed).toBe(false);
  session.destroy();
});

test("a connection ends after ten minutes, with its calls one minute later", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  shortenTimers(600_000, 1_000_000);
  const { session, call } = await callUnread(client.port, server.token);
  await once(session, "goaway");
  await once(session, "close");
  expect(call.closed).toBe(true);
});

test("beyond a thousand connections for gRPC, the one that is idle for longest is closed, and none with a call", async () => {
  const metricsToken = "a token for the metrics only";
  await using server = await startServer({ metricsToken });
  using client = await connectGrpc(server);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  const busy = connectHttp2(`http://127.0.0.1:${client.port}`);
  const call = beginCall(busy, server.token);
  const metrics = async () => {
    const headers = { authorization: `Bearer ${metricsToken}` };
    return (await fetch(`${server.url}/metrics`, { headers })).text();
  };
  await expect.poll(metrics).toMatch(/^gabbro_requests_in_flight 1$/m); // it is under way
  const second = await openHttp2(client.port);
  const closed = once(second, "close");
  const sockets: Socket[] = [];
  for (let n = 1; n < 1_000; n++) sockets.push(await openHttp2(client.port));
  await closed; // after that of the client, which was idle for longer
  await sendFrames(sockets[0]!, []); // needs no token, so it does not count
  const next = once(sockets[0]!, "close");
  sockets.push(await openHttp2(client.port));
  await next;
  expect(call.destroyed).toBe(false);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  busy.destroy();
  for (const socket of sockets) socket.destroy();
});

const calls = Array.from({ length: 100 }, (_, at) => 2 * at + 1);

test("others are served between any two of the calls that a packet begins", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const sockets = await Promise.all(Array.from({ length: 5 }, () => openHttp2(client.port)));
  for (const socket of sockets) await sendFrames(socket, []);
  const frames = calls.flatMap((call) => [callHeaders(call, TRACES), endOfCall(call)]);
  const turns = await turnsDuring(() => Promise.all(sockets.map((socket) => sendFrames(socket, frames))));
  expect(turns).toBeGreaterThan(sockets.length * calls.length);
  for (const socket of sockets) socket.destroy();
});

test("calls of an unknown method that are reset in the packet that begins them do not end the service", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const socket = await openHttp2(client.port);
  socket.write(Buffer.concat(calls.flatMap((call) => [callHeaders(call, "/unknown"), reset(call)])));
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  socket.destroy();
});

test.each([
  ["a second message", [framed(spans), framed(spans)], /more bytes than its message/],
  ["a second message in the same frame", [Buffer.concat([framed(spans), framed(spans)])], /more bytes/],
  ["less than its message", [framed(spans).subarray(0, -1)], /before its message was complete/],
  ["a part of a prefix", [framed(spans).subarray(0, 3)], /before its message was complete/],
  ["nothing", [], /before its message was complete/],
  [
    "frames of a few bytes",
    Array.from(framed(Buffer.alloc(300)), (byte) => Buffer.from([byte])),
    /fewer than 60 bytes/,
  ],
])("a call with %s is an invalid argument, and its connection goes on", async (_, parts, details) => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const answerOf = async (parts: Buffer[]) => {
    const call = beginCall(session, server.token);
    const response = once(call, "response");
    for (const part of parts) {
      call.write(part);
      await turn(); // in a frame of its own
    }
    call.end();
    return (await response)[0];
  };
  const refused = await answerOf(parts);
  expect(refused["grpc-status"]).toBe(`${codes.INVALID_ARGUMENT}`);
  expect(decodeURI(`${refused["grpc-message"]}`)).toMatch(details);
  expect((await answerOf([framed(spans)]))["grpc-status"]).toBeUndefined(); // it comes behind the message
  session.destroy();
});

test.each([{ "grpc-encoding": "snappy" }, {}])(
  "a message that is packed in an unknown way, with %j, is unimplemented, and the answer names the known ones",
  async (headers) => {
    await using server = await startServer();
    using client = await connectGrpc(server);
    const session = connectHttp2(`http://127.0.0.1:${client.port}`);
    const call = beginCall(session, server.token, headers);
    call.end(framed(spans, true));
    const [refused] = await once(call, "response");
    expect(refused["grpc-status"]).toBe(`${codes.UNIMPLEMENTED}`);
    expect(decodeURI(`${refused["grpc-message"]}`)).toContain("gzip or none");
    expect(refused["grpc-accept-encoding"]).toBe("identity,gzip");
    session.destroy();
  },
);

test("a message whose prefix comes in pieces is read", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const call = beginCall(session, server.token);
  const message = framed(spans);
  for (const [from, to] of [[0, 2], [2, 4], [4, 7], [7]]) {
    call.write(message.subarray(from, to));
    await turn();
  }
  call.end();
  const [trailers] = await once(call.resume(), "trailers");
  expect(trailers["grpc-status"]).toBe(`${codes.OK}`);
  session.destroy();
});

test("a token with an accent behind it is refused, and stands in no log", async () => {
  const lines: string[] = [];
  await using server = await startServer({ log: (line) => lines.push(line) });
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const call = beginCall(session, `${server.token}\u00e9`);
  const [answer] = await once(call, "response");
  expect(answer["grpc-status"]).toBe(`${codes.UNAUTHENTICATED}`);
  expect(lines.join("")).not.toContain(server.token);
  session.destroy();
});

test("each message of metrics waits for a turn, as the last bytes of many may arrive in one packet", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const turns = vi.spyOn(server.database, "turn");
  const sent = await Promise.all(
    Array.from({ length: 20 }, () => client.send(Buffer.alloc(0), { signal: "metrics" })),
  );
  expect(sent).toEqual(Array(20).fill(expect.objectContaining({ code: codes.OK })));
  expect(turns.mock.calls.length).toBeGreaterThanOrEqual(20);
});
