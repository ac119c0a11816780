import grpc from "@grpc/grpc-js";
import { decode } from "./otlpProto.ts";
import type { Server } from "./server.ts";

const asBuffer = (bytes: Buffer): Buffer => bytes;

const services = {
  traces: "trace.v1.TraceService",
  logs: "logs.v1.LogsService",
  metrics: "metrics.v1.MetricsService",
};

export interface GrpcAnswer {
  code: number;
  details: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
  answer?: any;
  /** The google.rpc.Status in the trailers. */
  // biome-ignore lint/suspicious/noExplicitAny: the same
  status?: any;
}

/** A client of the gRPC port of a server, which starts to listen. */
export async function connectGrpc(server: Server) {
  const port = await server.app.listenForGrpc(["127.0.0.1"], 0);
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    "grpc.default_compression_algorithm": 0,
  });
  const packing = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), {
    "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip,
    "grpc.use_local_subchannel_pool": 1,
  });
  return {
    port,
    send: (
      body: Buffer,
      {
        token = server.token,
        signal = "traces",
        compression = "none",
        headers = {},
      }: {
        token?: string | null;
        signal?: keyof typeof services;
        compression?: "none" | "gzip";
        headers?: Record<string, string>;
      } = {},
    ): Promise<GrpcAnswer> => {
      const path = `/opentelemetry.proto.collector.${services[signal]}/Export`;
      const metadata = new grpc.Metadata();
      for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
      if (token !== null) metadata.set("authorization", `Bearer ${token}`);
      const chosen = compression === "gzip" ? packing : client;
      return new Promise((resolve) => {
        chosen.makeUnaryRequest(path, asBuffer, asBuffer, body, metadata, (error, bytes) => {
          if (!error) return resolve({ code: 0, details: "", answer: decode("ExportResponse", bytes!) });
          const [status] = error.metadata.get("grpc-status-details-bin");
          const decoded = status && { status: decode("RpcStatus", status as Buffer) };
          resolve({ code: error.code, details: error.details, ...decoded });
        });
      });
    },
    [Symbol.dispose]() {
      client.close();
      packing.close();
    },
  };
}
