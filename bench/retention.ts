import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { v7 as uuidv7 } from "uuid";
import { migrate } from "../src/database/migrate.ts";
import { type Database, openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";
import { pruneTraces } from "../src/logs/prune.resolvers.ts";
import { commandLineContext, createWorkspace } from "../src/workspaces/resolvers.ts";
import { startPostgresql } from "./postgresql.ts";
import { createGenerator } from "./scale/generator.ts";

// node bench/retention.ts [--database sqlite|postgresql] [--logs 300000] [--steps 1] [--url URL]
// Fills a database with traces of that many logs each, removes the older half beside a client that logs all the time,
// and then logs as many again. Reports the rate, the longest waits and the size at each point.
const { values: given } = parseArgs({
  options: {
    database: { type: "string", default: "sqlite" },
    logs: { type: "string", default: "300000" },
    steps: { type: "string", default: "1" },
    url: { type: "string" },
  },
});
const [logs, steps] = [given.logs, given.steps].map(Number) as [number, number];

const AT_ONCE = 1_000;
const START = Date.UTC(2026, 0, 1);
const NEIGHBOUR_PAUSE_MS = 5;
/** How long the neighbour logs before the removal, for comparison. */
const ALONE_MS = 3_000;
const generate = createGenerator(7);
const report = (figures: object) => process.stdout.write(`${JSON.stringify(figures)}\n`);

/** Traces with logs of 1.6 kB, as rows for `commit`. */
function rowsOf(workspace: string, from: number, count: number, begin = START) {
  const rows: unknown[] = [];
  for (let n = from; n < from + count; n += steps) {
    const trace = uuidv7();
    const startTime = new Date(begin + n * 100);
    const times = { startTime, endTime: startTime, createdAt: startTime };
    const parties = { organization: null, user: null, metadata: null };
    rows.push(["Trace", { id: trace, workspace, name: "made", ...parties, ...times }]);
    for (let step = 0; step < steps; step++) {
      const [one, other] = [generate(n + step), generate(n + step)];
      rows.push([
        "Log",
        {
          ...{ id: uuidv7(), workspace, trace, type: "generation", prompt: null, promptSlug: one.slug },
          ...{ version: one.version, tag: null, ...{ provider: one.model.provider, model: one.model.model } },
          ...{ userId: one.user, organizationId: one.organization, metadata: JSON.parse(one.metadata) },
          ...{ input: `${one.input} ${other.input}`, output: `${one.output} ${other.output}` },
          ...{ idealOutput: null, variables: null, latencyMs: one.latencyMs, costSource: "COMPUTED" },
          ...{ inputTokens: one.inputTokens, outputTokens: one.outputTokens, cost: one.cost, searchId: null },
          ...times,
        },
      ]);
    }
  }
  return rows as Parameters<Database["commit"]>[0];
}

async function fill(database: Database, workspace: string, from: number, count: number) {
  const startMs = performance.now();
  for (let n = 0; n < count; n += AT_ONCE)
    await database.commit(rowsOf(workspace, from + n, Math.min(AT_ONCE, count - n)));
  return Math.round(count / ((performance.now() - startMs) / 1_000));
}

/** Logs again and again until aborted; returns the waits in milliseconds. */
async function neighbour(database: Database, workspace: string, signal: AbortSignal): Promise<number[]> {
  const waits: number[] = [];
  const later = Date.UTC(2027, 0, 1);
  for (let n = 0; !signal.aborted; n += steps) {
    const rows = rowsOf(workspace, n, steps, later);
    const startMs = performance.now();
    await database.commit(rows);
    waits.push(performance.now() - startMs);
    await wait(NEIGHBOUR_PAUSE_MS);
  }
  return waits.sort((a, b) => a - b);
}

function summary(waits: number[]) {
  const at = (share: number) => Math.round(waits[Math.floor((waits.length - 1) * share)]!);
  return { count: waits.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** The milliseconds of each step of a removal from now on. */
function timeSteps({ dialect }: Database): number[] {
  const steps: number[] = [];
  const { runSteps } = dialect;
  dialect.runSteps = async (orm, generator) => {
    const startMs = performance.now();
    const result = await runSteps(orm, generator);
    steps.push(performance.now() - startMs);
    return result;
  };
  return steps;
}

async function sizeOf(database: Database, url: string) {
  const read = (statement: string) =>
    database.orm.em.getConnection().execute<Record<string, number>[]>(statement);
  if (!url.startsWith("sqlite:")) {
    const [row] = await read("select pg_database_size(current_database()) as bytes");
    return { mb: Math.round(Number(row!.bytes) / 1e6) };
  }
  await read("pragma wal_checkpoint(truncate)");
  const [free] = await read("pragma freelist_count");
  const [pages] = await read("pragma page_count");
  const { size } = await stat(url.slice("sqlite:".length));
  return {
    mb: Math.round(size / 1e6),
    freePages: Number(Object.values(free!)[0]),
    pages: Number(Object.values(pages!)[0]),
  };
}

async function measure(url: string) {
  const database = await openDatabase(url, entities);
  await migrate(database);
  const workspace = await createWorkspace(database, `retention ${uuidv7()}`);
  const other = await createWorkspace(database, `neighbour ${uuidv7()}`);
  report({ filledPerSecond: await fill(database, workspace, 0, logs), ...(await sizeOf(database, url)) });
  // PostgreSQL opens its connections here.
  await Promise.all(
    Array.from({ length: 4 }, (_, n) => database.write.transaction().execute(() => wait(200 + n))),
  );
  const alone = await neighbour(database, other, AbortSignal.timeout(ALONE_MS));
  const ending = new AbortController();
  const waits = neighbour(database, other, ending.signal);
  const stepTimes = timeSteps(database);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startMs = performance.now();
  const context = commandLineContext(database, workspace);
  const { traces: removed } = await pruneTraces(context, { before: new Date(START + (logs / 2) * 100) });
  const seconds = (performance.now() - startMs) / 1_000;
  delay.disable();
  ending.abort();
  const all = await waits;
  report({
    ...{
      removed,
      seconds: Math.round(seconds * 10) / 10,
      logsPerSecond: Math.round((removed * steps) / seconds),
    },
    eventLoop: { p99: Math.round(delay.percentile(99) / 1e6), max: Math.round(delay.max / 1e6) },
    longestStepMs: Math.round(Math.max(...stepTimes)),
    neighbour: summary(all),
    neighbourAlone: summary(alone),
    ...(await sizeOf(database, url)),
  });
  report({
    refilledPerSecond: await fill(database, workspace, logs, logs / 2),
    ...(await sizeOf(database, url)),
  });
  await database.close();
}

const folder = await mkdtemp(join(tmpdir(), "gabbro-retention-"));
const server = given.database === "postgresql" && !given.url ? await startPostgresql({}) : null;
try {
  await measure(given.url ?? server?.url ?? `sqlite:${join(folder, "gabbro.sqlite")}`);
} finally {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
}
