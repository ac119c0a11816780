import grpc from "@grpc/grpc-js";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { SpanExporter } from "@opentelemetry/sdk-trace";

export const protocols = ["http/protobuf", "http/json", "grpc"] as const;
export const compressions = ["none", "gzip"] as const;

/** Where an exporter sends to. */
export interface Receiver {
  url: string;
  grpcPort: number;
  token: string;
}

/** The exporter of OpenTelemetry as it is published; by its own default, too, it gives up after 10 s. */
export function createExporter(
  protocol: (typeof protocols)[number],
  compression: (typeof compressions)[number],
  { url, grpcPort, token }: Receiver,
  timeoutMillis = 10_000,
): SpanExporter {
  // The exporters' own type is an enumeration, whose members cannot be named in code that is only stripped of types.
  const options = { compression, timeoutMillis } as object;
  if (protocol === "grpc") {
    const metadata = new grpc.Metadata();
    metadata.set("authorization", `Bearer ${token}`);
    return new GrpcExporter({ url: `http://127.0.0.1:${grpcPort}`, metadata, ...options });
  }
  const Exporter = protocol === "http/json" ? JsonExporter : ProtobufExporter;
  const headers = { authorization: `Bearer ${token}` };
  return new Exporter({ url: `${url}/v1/traces`, headers, ...options });
}
