import grpc from "@grpc/grpc-js";
import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { OTLPTraceExporter as GrpcExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Server, startServer } from "../support/server.ts";

const metricsToken = "a-token-for-watching-only-0123";
const SPANS = 10_000;
const BATCH = 512;

let server: Server;
let grpcPort: number;
beforeAll(async () => {
  server = await startServer({ metricsToken });
  grpcPort = await server.app.listenForGrpc(["127.0.0.1"], 0);
});
afterAll(() => server[Symbol.asyncDispose]());

type Compression = "none" | "gzip";
/** The exporters' own type is an enumeration, whose members cannot be named in code that is only stripped of types. */
const options = (compression: Compression) => ({ compression }) as object;

const exporters: Record<string, (compression: Compression) => SpanExporter> = {
  "http/protobuf": (compression) =>
    new ProtobufExporter({
      url: `${server.url}/v1/traces`,
      headers: { authorization: `Bearer ${server.token}` },
      ...options(compression),
    }),
  "http/json": (compression) =>
    new JsonExporter({
      url: `${server.url}/v1/traces`,
      headers: { authorization: `Bearer ${server.token}` },
      ...options(compression),
    }),
  grpc: (compression) => {
    const metadata = new grpc.Metadata();
    metadata.set("authorization", `Bearer ${server.token}`);
    return new GrpcExporter({ url: `http://127.0.0.1:${grpcPort}`, metadata, ...options(compression) });
  },
};

const cases = Object.keys(exporters).flatMap((protocol) =>
  (["none", "gzip"] as const).map((compression) => [protocol, compression] as const),
);

test.each(cases)(
  "the exporter of OpenTelemetry for %s, compression %s, delivers each of 10,000 spans",
  async (protocol, compression) => {
    const exporter = exporters[protocol]!(compression);
    const results: number[] = [];
    const watched: SpanExporter = {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          results.push(result.code);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    };
    const processor = new BatchSpanProcessor({
      exporter: watched,
      maxExportBatchSize: BATCH,
      maxQueueSize: 2 * SPANS,
    });
    const provider = new TracerProvider({ spanProcessors: [processor] });
    const before = await acceptedSpans();
    const tracer = provider.getTracer("test", "1.0");
    for (let n = 0; n < SPANS; n++) {
      const span = tracer.startSpan(`call ${n}`, { kind: SpanKind.CLIENT });
      span.setAttributes({
        "gen_ai.request.model": "gpt-5",
        "gen_ai.usage.input_tokens": n,
        tags: ["a", "b"],
      });
      span.addEvent("started", { n });
      span.setStatus({ code: n % 2 === 0 ? SpanStatusCode.OK : SpanStatusCode.ERROR });
      span.end();
    }
    await provider.forceFlush();
    await provider.shutdown();
    expect(results).toEqual(Array.from({ length: Math.ceil(SPANS / BATCH) }, () => 0));
    expect((await acceptedSpans()) - before).toBe(SPANS);
  },
);

async function acceptedSpans(): Promise<number> {
  const { body } = await server.get("/metrics", { token: metricsToken });
  return Number(/^gabbro_otlp_spans_total\{result="accepted",reason=""\} (\d+)$/m.exec(body)?.[1] ?? 0);
}
