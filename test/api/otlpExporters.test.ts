import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addWorkspace } from "../support/data.ts";
import { compressions, createExporter, protocols } from "../support/otlpExporters.ts";
import { type Server, startServer } from "../support/server.ts";

const BATCH = 512;
/** A busy machine is answered with 503 after 10 s; an exporter sends again within this time. */
const EXPORT_TIMEOUT_MS = 60_000;

let server: Server;
let grpcPort: number;
beforeAll(async () => {
  server = await startServer();
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
    const { url } = server;
    const { token } = await addWorkspace(server, `${protocol} ${compression}`);
    const exporter = createExporter(protocol, compression, { url, grpcPort, token }, EXPORT_TIMEOUT_MS);
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
      exportTimeoutMillis: EXPORT_TIMEOUT_MS, // of all batches, which it sends at once
      maxQueueSize: 2 * count,
    });
    const provider = new TracerProvider({ spanProcessors: [processor] });
    const from = new Date().toISOString();
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
    await provider.forceFlush({ timeoutMillis: EXPORT_TIMEOUT_MS });
    await provider.shutdown();
    expect(results).toEqual(Array.from({ length: Math.ceil(count / BATCH) }, () => 0));
    const usage = await server.run(
      `{ usage(from: "${from}", to: "${new Date(Date.now() + 1).toISOString()}") { nodes { logs } } }`,
      {},
      token,
    );
    expect(usage).toEqual([{ logs: count }]);
  },
  2 * EXPORT_TIMEOUT_MS,
);
