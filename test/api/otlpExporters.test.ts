import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compressions, createExporter, protocols } from "../support/otlpExporters.ts";
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

const cases = protocols.flatMap((protocol) =>
  compressions.map((compression) => [protocol, compression] as const),
);

test.each(cases)(
  "the exporter of OpenTelemetry for %s, compression %s, delivers each of 10,000 spans",
  async (protocol, compression) => {
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
