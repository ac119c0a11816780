import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { createServer } from "node:net";
import grpc from "@grpc/grpc-js";
import { expect, test, vi } from "vitest";
import { addToken, addWorkspace } from "../support/data.ts";
import { callHeaders, openHttp2, sendFrames } from "../support/http2Frames.ts";
import { encodeSpans, newSpan } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { decode, encode } from "../support/otlpProto.ts";
import { startServer } from "../support/server.ts";

const MB = 1024 * 1024;
const { status: codes } = grpc;

const spanOf = (bytes: number) =>
  newSpan({ attributes: [{ key: "text", value: { stringValue: "x".repeat(bytes) } }] });

test("spans are taken packed and not, and the answer is empty on full success", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  for (const compression of ["none", "gzip"] as const)
    expect(await client.send(encodeSpans([newSpan(), newSpan()]), { compression })).toEqual({
      code: codes.OK,
      details: "",
      answer: {},
    });
});

test("one invalid span is rejected by a partial success", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const { answer } = await client.send(encodeSpans([newSpan(), newSpan({ traceId: Buffer.alloc(16) })]));
  expect(answer.partialSuccess).toEqual({
    rejected: 1,
    errorMessage: "1 of 2 spans were rejected: span 1 has a trace id of zeros.",
  });
});

test("logs and metrics are rejected by a partial success that says what to do", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const logs = encode("LogsRequest", { resourceLogs: [{ scopeLogs: [{ logRecords: [{}, {}] }] }] });
  const { answer } = await client.send(logs, { signal: "logs" });
  expect(answer.partialSuccess).toMatchObject({
    rejected: 2,
    errorMessage: expect.stringContaining("/v1/traces"),
  });
  expect(await client.send(Buffer.alloc(0), { signal: "metrics" })).toMatchObject({ code: 0, answer: {} });
});

test("errors have the code of gRPC, a sentence, and a Status in the trailers", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const reader = (await addToken(server, { scopes: ["read"] })).token;
  const spans = encodeSpans([newSpan()]);
  const cases: [Parameters<typeof client.send>, number, RegExp][] = [
    [[spans, { token: null }], codes.UNAUTHENTICATED, /needs an access token/],
    [[spans, { token: "gab_wrong" }], codes.UNAUTHENTICATED, /unknown, expired or revoked/],
    [[spans, { token: reader }], codes.PERMISSION_DENIED, /lacks the scope/],
    [[spans.subarray(0, -3)], codes.INVALID_ARGUMENT, /cannot be read as OTLP protobuf/],
  ];
  for (const [call, code, details] of cases) {
    const refused = await client.send(...call);
    expect(refused).toMatchObject({ code, details: expect.stringMatching(details) });
    expect(refused.status).toEqual({ code, message: refused.details });
  }
});

test.each(["none", "gzip"] as const)(
  "more than 64 MB are RESOURCE_EXHAUSTED with compression %s, and the connection lives on",
  async (compression) => {
    await using server = await startServer();
    using client = await connectGrpc(server);
    const refused = await client.send(encodeSpans([spanOf(65 * MB)]), { compression });
    expect(refused).toMatchObject({ code: codes.RESOURCE_EXHAUSTED });
    expect(refused.status?.details).toBeUndefined(); // no RetryInfo: it is not to be sent again
    expect(await client.send(encodeSpans([newSpan()]), { compression })).toMatchObject({ code: codes.OK });
  },
);

test("overload is UNAVAILABLE with RetryInfo, for the workspace that causes it only", async () => {
  await using server = await startServer({ limits: { maxKeptBytes: 2 * MB } });
  using client = await connectGrpc(server);
  const other = await addWorkspace(server, "other");
  const refused = await client.send(encodeSpans([spanOf(3 * MB)]));
  expect(refused).toMatchObject({ code: codes.UNAVAILABLE, details: expect.stringContaining("overloaded") });
  const [{ type_url, value, typeUrl = type_url }] = refused.status.details;
  expect(typeUrl).toBe("type.googleapis.com/google.rpc.RetryInfo");
  expect(decode("RetryInfo", value)).toEqual({ retryDelay: { seconds: 1 } });
  expect(await client.send(encodeSpans([newSpan()]), { token: other.token })).toMatchObject({
    code: codes.OK,
  });
});

test("calls count among the requests in flight, and no longer when they have ended", async () => {
  await using server = await startServer({ limits: { maxInFlight: 1 } });
  using client = await connectGrpc(server);
  for (let n = 0; n < 3; n++)
    expect(await client.send(encodeSpans([newSpan()]))).toMatchObject({ code: codes.OK });
  const answers = await Promise.all([1, 2, 3].map(() => client.send(encodeSpans([newSpan()]))));
  expect(answers.map(({ code }) => code)).toContain(codes.UNAVAILABLE);
  expect(await client.send(encodeSpans([newSpan()]))).toMatchObject({ code: codes.OK });
});

test("nothing of a message is read for a caller without a token", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const session = connectHttp2(`http://127.0.0.1:${client.port}`);
  const stream = session.request({
    ":method": "POST",
    ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "content-type": "application/grpc",
    te: "trailers",
  });
  const [headers] = await once(stream, "response"); // although no message ever comes
  expect(headers["grpc-status"]).toBe("16");
  session.destroy();
});

test("a call in flight gets its answer when the service closes", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  await client.send(encodeSpans([newSpan()]));
  const turn = vi.spyOn(server.database, "turn");
  const sending = client.send(encodeSpans(Array.from({ length: 5_000 }, () => newSpan())));
  await vi.waitFor(() => expect(turn).toHaveBeenCalled(), 10_000);
  await server.app.close();
  expect(await sending).toMatchObject({ code: codes.OK });
});

test("a client that resets its connection while the service closes does not make that fail", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const socket = await openHttp2(client.port);
  await sendFrames(socket, [callHeaders(1, "/unknown")]); // it stays open, and the connection with it
  const closing = server.app.close();
  await once(socket, "data"); // that it goes away
  socket.resetAndDestroy();
  await closing;
});

test("a port that is taken is an error that the caller can report", async () => {
  await using server = await startServer();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  await expect(server.app.listenForGrpc(["127.0.0.1"], port)).rejects.toMatchObject({ code: "EADDRINUSE" });
  taken.close();
});
