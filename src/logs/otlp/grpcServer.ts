import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import grpc from "@grpc/grpc-js";
import type { FastifyBaseLogger } from "fastify";
import { clientOf } from "../../inbox/client.ts";
import { beginWork, endWork } from "../../limits/handlerWork.ts";
import { MAX_BODY_BYTES } from "./bounds.ts";
import type { Encoded, Signal } from "./decode.ts";
import { type Admitted, createAdmission, type HoldConnection } from "./grpcAdmission.ts";
import { toGrpcError } from "./grpcErrors.ts";
import { exportResponse, type Receipt } from "./messages.ts";
import type { OtlpOptions } from "./options.ts";
import { receiveLogRecords, receiveSpans, rejectMetrics } from "./receive.ts";
import { recordPartial, recordRefused } from "./rejections.ts";

const IDLE_MS = 300_000;
/** A client that never reads its answers, by a window of 0 bytes, keeps its calls open as long as its connection. */
const MAX_AGE_MS = 600_000;
/** Longer than a call may take. */
const AGE_GRACE_MS = 60_000;
const KEEPALIVE_MS = 60_000;
/** Calls on one connection that are not answered. */
const MAX_STREAMS = 100;

const paths: Record<Signal, string> = {
  traces: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
  logs: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
  metrics: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
};

// It prints headers that it cannot read: a token with an accent behind it, and 1 kB for each byte that a caller without one sends.
grpc.setLogVerbosity(grpc.logVerbosity.NONE);

const serviceOf = (signal: Signal): string => paths[signal].split("/")[1]!;

const headersOf = (metadata: grpc.Metadata): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(metadata.getMap()).map(([name, value]) => [name, value.toString()]));

/** Serves the three services of OpenTelemetry on the connections that it is given. */
export function createGrpcServer(options: OtlpOptions, log: FastifyBaseLogger) {
  const admission = createAdmission(options, log);
  // A server for each connection, as grpc-js does not tell which one a call is on. It takes 0.05 ms and 10 kB.
  const newServer = (hold: HoldConnection) =>
    new grpc.Server({
      "grpc.max_receive_message_length": MAX_BODY_BYTES,
      "grpc.max_concurrent_streams": MAX_STREAMS,
      "grpc.max_connection_idle_ms": IDLE_MS,
      "grpc.max_connection_age_ms": MAX_AGE_MS,
      "grpc.max_connection_age_grace_ms": AGE_GRACE_MS,
      "grpc.keepalive_time_ms": KEEPALIVE_MS,
      "grpc.enable_channelz": 0,
      interceptors: [admission.interceptorOf(hold)],
    });
  const exportOf = (signal: Signal): grpc.handleUnaryCall<Buffer, Buffer> => {
    return ({ request, metadata }, callback) => {
      const body: Encoded = { bytes: request, encoding: "protobuf" };
      const { context, answer } = admission.admitted(metadata);
      const origin = { endpoint: `${serviceOf(signal)} (gRPC)`, client: clientOf(headersOf(metadata)) };
      beginWork(answer);
      const received = receive(signal, body, { context, counts: options.counts });
      received
        .finally(() => endWork(answer))
        .then(
          (receipt) =>
            callback(null, exportResponse(recordPartial(context, origin, receipt), signal, "protobuf").body),
          (error) => {
            recordRefused(context, origin, error);
            callback(toGrpcError(error, log));
          },
        );
    };
  };
  const injectors = new Set<grpc.ConnectionInjector>();
  return {
    connect: (socket: Duplex, hold: HoldConnection): void => {
      const server = newServer(hold);
      for (const signal of ["traces", "logs", "metrics"] as const)
        server.addService({ Export: unary(paths[signal]) }, { Export: exportOf(signal) });
      const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
      injectors.add(injector);
      socket.once("close", () => {
        injectors.delete(injector);
        injector.destroy();
        server.forceShutdown();
      });
      injector.injectConnection(socket);
    },
    /** Lets calls in flight finish, and asks clients to make no further ones. */
    drain: (graceMs: number): void => {
      for (const injector of injectors) injector.drain(graceMs);
    },
  };
}

export type GrpcServer = ReturnType<typeof createGrpcServer>;

const asBuffer = (bytes: Buffer): Buffer => bytes;

/** A method whose messages stay bytes: our decoder reads them, with turns for others. */
const unary = (path: string): grpc.MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream: false,
  responseStream: false,
  requestSerialize: asBuffer,
  requestDeserialize: asBuffer,
  responseSerialize: asBuffer,
  responseDeserialize: asBuffer,
});

function receive(
  signal: Signal,
  body: Encoded,
  { context, counts }: Pick<Admitted, "context"> & Pick<OtlpOptions, "counts">,
): Promise<Receipt> {
  if (signal === "traces") return receiveSpans(context, body, counts);
  return signal === "logs" ? receiveLogRecords(context, body) : rejectMetrics(context, body);
}
