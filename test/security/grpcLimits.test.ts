import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import grpc from "@grpc/grpc-js";
import { afterEach, expect, test, vi } from "vitest";
import { addWorkspace } from "../support/data.ts";
import { callHeaders, dataFrame, endOfCall, openHttp2, reset, sendFrames } from "../support/http2Frames.ts";
import { newSpan } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { encode } from "../support/otlpProto.ts";
import { startServer } from "../support/server.ts";
import { turnsDuring } from "../support/turns.ts";

const { status: codes } = grpc;
afterEach(() => vi.restoreAllMocks());

const spans = encode("TraceRequest", { resourceSpans: [{ scopeSpans: [{ spans: [newSpan()] }] }] });

const TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/** A call whose message does not come. */
function beginCall(session: ClientHttp2Session, token: string): ClientHttp2Stream {
  const stream = session.request(
    {
      ":method": "POST",
      ":path": TRACES,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${token}`,
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

test("messages of eight calls of a workspace may be arriving; a ninth waits, and another workspace does not", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const other = await addWorkspace(server, "other");
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const arriving = Array.from({ length: 8 }, () => beginCall(session, server.token));
  await vi.waitFor(async () => {
    const sent = client.send(spans).then(() => "answered");
    expect(await Promise.race([sent, client.send(spans, { token: other.token }).then(() => "waits")])).toBe(
      "waits",
    );
  }, 30_000);
  const waiting = client.send(spans);
  arriving[0]!.close();
  expect(await waiting).toMatchObject({ code: codes.OK });
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

test("a connection has 100 calls at once, and is closed when it has none for five minutes", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  shortenTimers(300_000);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const [settings] = await once(session, "remoteSettings");
  expect(settings.maxConcurrentStreams).toBe(100);
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + 300_000);
  await once(session, "close");
});

test("a call whose client never reads its answer ends with its connection, after ten minutes and one more", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  shortenTimers(60_000, 1_000_000);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`, { settings: { initialWindowSize: 0 } });
  const call = beginCall(session, server.token);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(spans.length, 1);
  call.end(Buffer.concat([head, spans]));
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

/** DATA frames of a call, of so many bytes each; whether the connection is closed once they are read. */
async function closesAfter(port: number, frames: Buffer[]): Promise<boolean> {
  const socket = await openHttp2(port);
  const closed = once(socket, "close").then(() => true);
  const isClosed = await Promise.race([closed, sendFrames(socket, frames).then(() => false)]);
  socket.destroy();
  return isClosed;
}

/** A message in so many frames of so many bytes each. */
function messageOf(call: number, frames: number, bytes: number): Buffer[] {
  const message = Buffer.alloc(frames * bytes);
  message.writeUInt32BE(message.length - 5, 1);
  const frame = (_: unknown, n: number) => dataFrame(call, message.subarray(n * bytes, (n + 1) * bytes));
  return [callHeaders(call, TRACES), ...Array.from({ length: frames }, frame)];
}

test("a connection with a message in a thousand frames of less than a kilobyte is closed, however large others are", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  expect(await closesAfter(client.port, messageOf(1, 1_001, 1_000))).toBe(true);
  expect(await closesAfter(client.port, [...messageOf(1, 100, 16_000), ...messageOf(3, 1_001, 67)])).toBe(
    true,
  );
});

test("a connection is closed when a call has a second message, or frames with padding, which no client sends", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const [headers, message] = messageOf(1, 1, 300);
  expect(await closesAfter(client.port, [headers!, message!, endOfCall(1)])).toBe(false);
  expect(await closesAfter(client.port, [headers!, message!, dataFrame(1, Buffer.from("x"))])).toBe(true);
  const two = Buffer.concat([message!.subarray(9), Buffer.alloc(5)]);
  expect(await closesAfter(client.port, [headers!, dataFrame(1, two)])).toBe(true);
  const last = dataFrame(1, two);
  last[4] = 1; // ends the call
  expect(await closesAfter(client.port, [headers!, last])).toBe(true);
  const padded = Buffer.from(message!);
  padded[4] = 8;
  expect(await closesAfter(client.port, [headers!, padded])).toBe(true);
  const split = [message!.subarray(9, 11), message!.subarray(11)].map((part) => dataFrame(1, part));
  expect(await closesAfter(client.port, [headers!, ...split, dataFrame(1, Buffer.from("x"))])).toBe(true);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
});

test("a token with an accent behind it is refused, and printed nowhere", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const call = beginCall(session, `${server.token}\u00e9`);
  const [answer] = await once(call, "response");
  expect(answer["grpc-status"]).toBe(`${codes.UNAUTHENTICATED}`);
  expect(printed).not.toHaveBeenCalled();
  session.destroy();
});

test("a call that is cancelled while its message arrives keeps its place while that may be unpacked", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const timers = vi.spyOn(globalThis, "setTimeout");
  const isOfPlace = (work: () => void) => work.name === "release";
  const places = () => timers.mock.calls.filter(([work, ms]) => ms === 5_000 && isOfPlace(work)).length;
  const call = beginCall(session, server.token);
  await expect.poll(() => timers.mock.calls.filter(([, ms]) => ms === 30_000).length).toBe(1);
  expect(places()).toBe(0);
  call.close();
  await expect.poll(places).toBe(1);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
  expect(places()).toBe(1); // not that of one whose message is there
  session.destroy();
});

test("many messages of a few frames on one connection are taken, as exporters send them all day", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const exports = Array.from({ length: 300 }, (_, n) => [
    ...messageOf(2 * n + 1, 5, 200),
    endOfCall(2 * n + 1),
  ]);
  expect(await closesAfter(client.port, exports.flat())).toBe(false);
});

test("a connection whose messages come in frames of a few bytes is closed", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const socket = await openHttp2(client.port);
  socket.write(callHeaders(1, TRACES));
  const tinyFrames = Array.from({ length: 1_001 }, () => dataFrame(1, Buffer.from("x")));
  socket.write(Buffer.concat(tinyFrames));
  await expect.poll(() => socket.closed, { timeout: 30_000 }).toBe(true);
  expect(await client.send(spans)).toMatchObject({ code: codes.OK });
});
