import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { FastifyBaseLogger } from "fastify";
import type { Context } from "../../context.ts";
import { unavailable } from "../../database/driverErrors.ts";
import { GabbroError, internalError } from "../../errors.ts";
import { clientOf } from "../../inbox/client.ts";
import { timedOut } from "../../limits/deadline.ts";
import { runShared } from "../../limits/eventLoop.ts";
import { beginWork, endWork, onceDone } from "../../limits/handlerWork.ts";
import { authenticated } from "../../workspaces/resolvers.ts";
import type { Encoded, Signal } from "./decode.ts";
import { readMessage } from "./grpcMessage.ts";
import { exportResponse, grpcCodeOf, type Receipt, statusBytes } from "./messages.ts";
import type { OtlpOptions } from "./options.ts";
import { receiveLogRecords, receiveSpans, rejectMetrics } from "./receive.ts";
import { recordPartial, recordRefused } from "./rejections.ts";

/** For sending a whole request, then for the work on it, and then for reading the answer. */
const RECEIVE_MS = 30_000;
const WORK_MS = 10_000;
const ANSWER_MS = 30_000;

const [OK, CANCELLED, UNIMPLEMENTED] = [0, 1, 12];
/** The code of HTTP/2 for a stream that ends as it should. */
const NO_ERROR = 0;

const services: Record<string, Signal> = {
  "opentelemetry.proto.collector.trace.v1.TraceService": "traces",
  "opentelemetry.proto.collector.logs.v1.LogsService": "logs",
  "opentelemetry.proto.collector.metrics.v1.MetricsService": "metrics",
};
const PATH = /^\/([a-zA-Z0-9.]{1,100})\/Export$/;

const headersOfAnswer = {
  ":status": 200,
  "content-type": "application/grpc+proto",
  "grpc-accept-encoding": "identity,gzip",
};

/** Keeps a connection of a workspace from being closed as idle, until the function that is returned is called. */
export type HoldConnection = (workspaceId: string) => () => void;

/** Answers calls of gRPC. Authenticates each before its message is read, and counts it with the requests that come by HTTP. */
export function createCalls(options: OtlpOptions, log: FastifyBaseLogger) {
  return async (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    hold: HoldConnection,
  ): Promise<void> => {
    const [, service = ""] = PATH.exec(headers[":path"] ?? "") ?? [];
    const signal = Object.hasOwn(services, service) ? services[service] : undefined;
    const call = newCall(stream, signal && service, log);
    if (!signal || !headers["content-type"]?.startsWith("application/grpc")) return call.refuseMethod();
    try {
      const deadline = { atMs: performance.now() + RECEIVE_MS };
      const context = await options.contextOf({ headers, deadline }, { raw: stream });
      const origin = { endpoint: `${service} (gRPC)`, client: clientOf(headers) };
      const admitted = { stream, headers, signal, call, context, deadline, hold };
      const receipt = await receiveCall(admitted, options).catch((error) => {
        recordRefused(context, origin, error);
        throw error;
      });
      const { body } = exportResponse(recordPartial(context, origin, receipt), signal, "protobuf");
      call.answer(body);
    } catch (error) {
      call.fail(error);
    }
  };
}

interface AdmittedCall {
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
  signal: Signal;
  call: ReturnType<typeof newCall>;
  context: Context;
  deadline: { atMs: number };
  hold: HoldConnection;
}

async function receiveCall(
  { stream, headers, signal, call, context, deadline, hold }: AdmittedCall,
  { limiter, counts }: OtlpOptions,
): Promise<Receipt> {
  const { overloaded } = limiter;
  const { workspaceId } = authenticated(context);
  const share = limiter.enterCall(workspaceId);
  if (!share) throw overloaded();
  onceDone(stream, () => share.giveBack(1));
  onceDone(stream, hold(workspaceId)); // not of a refused call: those of clients who read no answer could keep all connections
  const held = limiter.holdBytes(workspaceId);
  onceDone(stream, held.release);
  beginWork(stream);
  try {
    const bytes = await readMessage(stream, headers, { held, overloaded, context });
    deadline.atMs = performance.now() + WORK_MS;
    call.endAfter(WORK_MS);
    const body: Encoded = { bytes, encoding: "protobuf" };
    // Else the transactions and connections of all workspaces count as those of one.
    return await runShared(workspaceId, async () => {
      if (signal === "traces") return receiveSpans(context, body, counts);
      return signal === "logs" ? receiveLogRecords(context, body) : rejectMetrics(context, body);
    });
  } finally {
    endWork(stream);
  }
}

/** The ways to end a call, of which the first one counts. Logs the call when it is closed. */
function newCall(stream: ServerHttp2Stream, service: string | undefined, log: FastifyBaseLogger) {
  const beganMs = performance.now();
  let code = CANCELLED;
  let timer: NodeJS.Timeout | undefined;
  const endAfter = (ms: number) => {
    clearTimeout(timer);
    if (!stream.closed)
      timer = setTimeout(() => (stream.headersSent ? stream.destroy() : fail(timedOut())), ms);
  };
  /** Nothing can be sent where the client has cancelled the call, and nothing more where its time was up. */
  const isOver = () => stream.closed || stream.destroyed || stream.headersSent;
  const refuse = (refusalCode: number, headers: object) => {
    if (isOver()) return;
    code = refusalCode;
    stream.respond({ ...headersOfAnswer, ...headers, "grpc-status": code }, { endStream: true });
    // Stops a client that still sends its message.
    stream.once("finish", () => stream.close(NO_ERROR));
    stream.resume();
    endAfter(ANSWER_MS);
  };
  const fail = (error: unknown) => {
    const requestId = randomUUID();
    const expected =
      error instanceof GabbroError ? error : (unavailable(error) ?? internalError(requestId, error));
    if (expected.status >= 500) log.error({ err: expected.cause ?? expected, requestId }, "a call failed");
    refuse(grpcCodeOf(expected), {
      "grpc-message": encodeURI(expected.message.toWellFormed()),
      "grpc-status-details-bin": Buffer.from(statusBytes(expected)).toString("base64"),
    });
  };
  stream.on("error", () => {}); // of a client that went away
  stream.once("close", () => {
    clearTimeout(timer);
    const latencyMs = Math.round((performance.now() - beganMs) * 100) / 100;
    log.info({ method: "gRPC", route: service, code, latencyMs }, "answered");
  });
  endAfter(RECEIVE_MS);
  return {
    endAfter,
    fail,
    refuseMethod: (): void =>
      refuse(UNIMPLEMENTED, {
        "grpc-message": "There is no such method: OpenTelemetry is received by Export.",
      }),
    /** Sends a message, and that the call succeeded. */
    answer: (message: Buffer): void => {
      if (isOver()) return;
      code = OK;
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(message.length, 1);
      stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": OK }));
      stream.respond(headersOfAnswer, { waitForTrailers: true });
      stream.end(Buffer.concat([prefix, message]));
      endAfter(ANSWER_MS);
    },
  };
}
