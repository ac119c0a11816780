import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type ReadableSpan, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { compressions, createExporter, protocols } from "../test/support/otlpExporters.ts";
import { freePort } from "../test/support/postgresServer.ts";
import { type How, prepareDatabase, startGateway, TOKEN } from "./gateway.ts";
import { isFaultless, judge, type Verdict } from "./ledgerCheck.ts";
import { type Ledger, newLedger } from "./writers.ts";

const EXPORTERS = 32;
const SPANS_OF_EXPORT = 8;
const SENT_TWICE = 0.1;
const AFTER_A_FAILURE_MS = 20;
const MAX_WAIT_MS = 60_000;

export interface KillExportersResult extends Verdict {
  cycles: number;
  acknowledged: number;
  /** Exports that failed although the exporter had retried, and were made again. */
  repeated: number;
}

/**
 * Kills the gateway at random moments under the exporters of OpenTelemetry, by all protocols and with gzip and without, which
 * go on and send again what was not answered. Holds the database against all that an exporter called a success, each time
 * the gateway is back. Ends at the first fault.
 */
export async function killExporters(
  how: How,
  { cycles, longestLifeMs = 500 }: { cycles: number; longestLifeMs?: number },
): Promise<KillExportersResult> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const env = { ...how.env, PORT: String(port), OTLP_GRPC_PORT: String(grpcPort) };
  const ledger = newLedger();
  await prepareDatabase(how.databaseUrl);
  let gateway = await startGateway({ ...how, env });
  const exporters = startExporters({ url: gateway.url, grpcPort, token: TOKEN }, ledger);
  const result = { lost: [] as string[], doubled: [] as string[], faults: [] as string[], cycles: 0 };
  try {
    while (result.cycles < cycles && isFaultless(result)) {
      await moreThan(ledger.acknowledged.size);
      await wait(Math.random() * longestLifeMs);
      await gateway.kill();
      // What is acknowledged from here on is stored by the next gateway, while the database is read.
      const acknowledged = new Set(ledger.acknowledged);
      gateway = await startGateway({ ...how, env });
      result.cycles += 1;
      Object.assign(result, await judge(how.databaseUrl, { ...ledger, acknowledged }));
    }
    const repeated = await exporters.stop();
    if (isFaultless(result)) Object.assign(result, await judge(how.databaseUrl, ledger));
    return { ...result, acknowledged: ledger.acknowledged.size, repeated };
  } finally {
    await exporters.stop();
    await gateway.kill();
  }

  async function moreThan(count: number): Promise<void> {
    const untilMs = performance.now() + MAX_WAIT_MS;
    while (ledger.acknowledged.size <= count) {
      if (performance.now() > untilMs) throw new Error(`No export succeeded any more. ${gateway.said()}`);
      await wait(5);
    }
  }
}

/** Has exporters send spans, each export again until it succeeds. `stop` returns how many were made again. */
function startExporters(receiver: Parameters<typeof createExporter>[2], ledger: Ledger) {
  let isStopped = false;
  let repeated = 0;
  const run = async (at: number) => {
    const protocol = protocols[at % protocols.length]!;
    const exporter = createExporter(protocol, compressions[at % compressions.length]!, receiver);
    while (!isStopped) {
      const names = Array.from({ length: SPANS_OF_EXPORT }, () => randomUUID());
      const spans = toSpans(names);
      for (const name of names) ledger.sent.add(name);
      let isExported = await succeeds(exporter, spans);
      for (; !isExported && !isStopped; isExported = await succeeds(exporter, spans)) {
        repeated += 1;
        await wait(AFTER_A_FAILURE_MS);
      }
      if (!isExported) break;
      for (const name of names) ledger.acknowledged.add(name);
      if (Math.random() < SENT_TWICE) await succeeds(exporter, spans); // as after an answer that was lost on the way
    }
    await exporter.shutdown();
  };
  const ended = Promise.all(Array.from({ length: EXPORTERS }, (_, at) => run(at)));
  return {
    stop: async () => {
      isStopped = true;
      await ended;
      return repeated;
    },
  };
}

const succeeds = (exporter: SpanExporter, spans: ReadableSpan[]) =>
  new Promise<boolean>((resolve) => exporter.export(spans, ({ code }) => resolve(code === 0)));

/** Ended spans, of which each names a user of its own. */
function toSpans(names: string[]): ReadableSpan[] {
  const spans: ReadableSpan[] = [];
  const collector = {
    onStart: () => {},
    onEnd: (span: ReadableSpan) => void spans.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const tracer = new TracerProvider({ spanProcessors: [collector] }).getTracer("faults");
  for (const name of names)
    tracer.startSpan("step", { attributes: { "user.id": name, "input.value": `the words ${name}` } }).end();
  return spans;
}
