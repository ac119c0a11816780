import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compressions, createExporter, protocols } from "../support/otlpExporters.ts";
import { type Server, startServer } from "../support/server.ts";

const metricsToken = "a-token-for-watching-only-0123";
const BATCH = 512;

let server: Server;
let grpcPort: number;
beforeAll(async () => {
  server = await startServer({ metricsToken });
  grpcPort = await server.app.listenForGrpc(["127.0.0.1"], 0);
});
afterAll(() => server[Symbol.asyncDispose]());

/** Several batches each; a whole load where the most parts work together. */
const spansOf = (protocol: string, compression: string) =>
  protocol === "http/protobuf" && compression === "gzip" ? 10_000 : 2_000;
const cases = protocols.flatMap((protocol) =>
  compressions.map((compression) => [protocol, compression, spansOf(protocol, compression)] as const),
);

test.each(cases)(
  "the exporter of OpenTelemetry for %s, compression %s, delivers each of %i spans",
  async (protocol, compression, count) => {
    const { url, token } = server;
    const exporter = createExporter(protocol, compression, { url, grpcPort, token });
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
      maxQueueSize: 2 * count,
    });
    const provider = new TracerProvider({ spanProcessors: [processor] });
    const before = await acceptedSpans();
    const tracer = provider.getTracer("test", "1.0");
    for (let n = 0; n < count; n++) {
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
    expect(results).toEqual(Array.from({ length: Math.ceil(count / BATCH) }, () => 0));
    expect((await acceptedSpans()) - before).toBe(count);
  },
);

async function acceptedSpans(): Promise<number> {
  const { body } = await server.get("/metrics", { token: metricsToken });
  return Number(/^gabbro_otlp_spans_total\{result="accepted",reason=""\} (\d+)$/m.exec(body)?.[1] ?? 0);
}
