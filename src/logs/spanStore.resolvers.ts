import { LockMode } from "@mikro-orm/core";
import { piecesOf } from "../database/pieces.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { measureUsage, type Usage } from "../usage/usage.ts";
import { countedIds, isCall } from "./counted.ts";
import { Log, Trace } from "./entities.ts";
import { createPause, insertLogs } from "./insertLogs.resolvers.ts";
import type { ReportedSpan, ReportedTrace } from "./reported.ts";
import { NO_USAGE, type Step, toReporting, toRows } from "./steps.resolvers.ts";
import { type Batch, MAX_COMPARED_LOGS, readStored, type StoredLog } from "./storedLogs.resolvers.ts";
import { treeOf } from "./tree.ts";

/** A span, and the log that it becomes. */
export interface SpanStep {
  span: ReportedSpan;
  /** The id of its trace here. */
  traceId: string;
  step: Step;
}

/** Stored logs that one transaction recounts, in 100 ms. One span can change a chain of 5,000 calls: all take 6 s. */
const MAX_RECOUNTED_LOGS = 250;

/** For each 64 logs that are removed at once, SQLite rewrites some of their words in the same turn: for 512 in up to 0.57 s. */
const MAX_REMOVED_AT_ONCE = 64;

/**
 * Stores completed spans and their traces in the transaction of a batch. Returns the rows of the logs, and the ids of the traces
 * whose stored logs `recountTrace` has yet to recount.
 */
export async function storeSpans(batch: Batch, steps: SpanStep[]) {
  const { em, workspaceId, context } = batch;
  const pause = createPause();
  const byTrace = Map.groupBy(steps, ({ traceId }) => traceId);
  // In the order of their ids, so that two batches do not wait for each other.
  const traceIds = [...byTrace.keys()].toSorted();
  const stored = await em.find(
    Trace,
    { id: { $in: traceIds } },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: "asc" }, populate: ["user", "organization"] },
  );
  for (const trace of stored) update(trace, byTrace.get(trace.id)!);
  await em.flush();
  const storedIds = stored.map(({ id }) => id);
  const news = traceIds.filter((id) => !storedIds.includes(id));
  await context.database.insertWithin(
    em,
    news.map((id) => ["Trace", toTraceRow(workspaceId, id, byTrace.get(id)!)]),
  );
  const { rows, toRecount } = await toCountedRows(batch, steps, { storedIds, pause });
  if (storedIds.length > 0) await removeStored(batch, rows, pause);
  await insertLogs(batch, rows, pause);
  return { rows, toRecount };
}

/** Removes the logs that rows replace. */
async function removeStored(
  { em, workspaceId }: Batch,
  rows: { id: string }[],
  pause: () => Promise<void>,
): Promise<void> {
  for (const { piece } of piecesOf(rows, () => 1, MAX_REMOVED_AT_ONCE)) {
    await em.nativeDelete(Log, { workspace: workspaceId, id: { $in: piece.map(({ id }) => id) } });
    await pause();
  }
}

/**
 * Recounts stored logs of a trace in a transaction of their own; returns whether more are left. The trace may have grown by
 * `stored` logs since it was decided that it is compared as a whole.
 */
export async function recountTrace(batch: Batch, traceId: string, stored: number): Promise<boolean> {
  const pause = createPause();
  await batch.em.find(Trace, { id: traceId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const logs = await readStored(batch, [traceId], { pause, maxLogs: MAX_COMPARED_LOGS + stored });
  const changed = toRecounts(logs, countedIds(treeOf(logs)));
  await recountSome(batch, changed, pause);
  return changed.length > MAX_RECOUNTED_LOGS;
}

/** The root among spans: the one that began first. Its id begins with its start. */
function rootOf(spans: SpanStep[]): SpanStep | undefined {
  return spans
    .filter(({ span }) => span.isRoot)
    .toSorted((a, b) => (a.step.row.id < b.step.row.id ? -1 : 1))[0];
}

/** What the first span that says it says of the trace, the root before all others. */
function saysOf<Name extends keyof ReportedTrace>(
  spans: SpanStep[],
  root: SpanStep | undefined,
  name: Name,
): ReportedTrace[Name] | null {
  const ofRoot = root?.span.trace[name] ?? null;
  if (ofRoot !== null) return ofRoot;
  return spans.find(({ span }) => span.trace[name] !== null)?.span.trace[name] ?? null;
}

function times(spans: SpanStep[]) {
  const starts = spans.map(({ span }) => span.log.startTime.getTime());
  const ends = spans.flatMap(({ span }) => span.log.endTime?.getTime() ?? []);
  return {
    startTime: new Date(starts.reduce((a, b) => Math.min(a, b))),
    endTime: ends.length === 0 ? null : new Date(ends.reduce((a, b) => Math.max(a, b))),
  };
}

const FROM_ROOT = ["input", "output", "metadata", "evaluators", "sampleRate"] as const;
const FROM_ANY = [
  ...["featureSlug", "experimentId", "sessionId", "environment", "user", "organization"],
] as const satisfies (keyof ReportedTrace)[];

function toTraceRow(workspaceId: string, id: string, spans: SpanStep[]) {
  const root = rootOf(spans);
  const trace = root?.span.trace;
  const [first] = spans;
  return {
    id,
    workspace: workspaceId,
    externalId: first!.span.traceId,
    rootId: root?.step.row.id ?? null,
    name: saysOf(spans, root, "name") ?? nameOf(first!.span),
    ...times(spans),
    createdAt: new Date(),
    ...Object.fromEntries(FROM_ROOT.map((name) => [name, trace?.[name] ?? null])),
    ...(Object.fromEntries(FROM_ANY.map((name) => [name, saysOf(spans, root, name)])) as Pick<
      ReportedTrace,
      (typeof FROM_ANY)[number]
    >),
    idealOutput: null,
  };
}

const nameOf = ({ log }: ReportedSpan): string => log.name ?? log.type;

/**
 * Adds what spans say of a stored trace: a root that began before the known one replaces what that one said. The casts are
 * there because TypeScript does not see that the name on both sides of an assignment is the same one.
 */
function update(trace: Trace, spans: SpanStep[]): void {
  const { startTime, endTime } = times(spans);
  if (startTime < trace.startTime) trace.startTime = startTime;
  if (endTime && (!trace.endTime || endTime > trace.endTime)) trace.endTime = endTime;
  const root = rootOf(spans);
  const isRoot = root !== undefined && (trace.rootId === null || root.step.row.id <= trace.rootId);
  for (const name of FROM_ANY) {
    const value = saysOf(spans, root, name);
    if (value !== null && (trace[name] === null || isRoot)) trace[name] = value as never;
  }
  if (!isRoot) return;
  trace.rootId = root.step.row.id;
  trace.name = root.span.trace.name ?? nameOf(root.span);
  for (const name of FROM_ROOT) {
    const value = root.span.trace[name];
    if (value !== null) trace[name] = value as never;
  }
}

/** The rows of the logs, after looking at their traces as a whole: a log may stop counting when one below it comes. */
async function toCountedRows(
  batch: Batch,
  steps: SpanStep[],
  { storedIds, pause }: { storedIds: string[]; pause: () => Promise<void> },
) {
  const fresh = new Map(steps.map(({ step, traceId }) => [step.row.id, { step, traceId }]));
  const stored = (await readStored(batch, storedIds, { pause, maxLogs: MAX_COMPARED_LOGS })).filter(
    ({ id }) => !fresh.has(id),
  );
  const reporting = [...[...fresh.values()].map(({ step }) => toReporting(step)), ...stored];
  const traceOf = new Map([
    ...[...fresh.values()].map(({ step, traceId }) => [step.row.id, traceId] as const),
    ...stored.map(({ id, trace }) => [id, trace] as const),
  ]);
  const counted = new Set<string>();
  for (const logs of Map.groupBy(reporting, ({ id }) => traceOf.get(id)).values())
    for (const id of countedIds(treeOf(logs))) counted.add(id);
  const changed = toRecounts(stored, counted);
  await recountSome(batch, changed, pause);
  const rows = toRows(
    steps.map(({ step }) => step),
    counted,
  );
  return { rows, toRecount: [...new Set(changed.slice(MAX_RECOUNTED_LOGS).map(({ log }) => log.trace))] };
}

interface Recount {
  log: StoredLog;
  counts: boolean;
}

/** The stored logs that begin or cease to count. */
const toRecounts = (stored: StoredLog[], counted: ReadonlySet<string>): Recount[] =>
  stored
    .map((log) => ({ log, counts: counted.has(log.id) }))
    .filter(
      ({ log, counts }) => counts !== (log.costSource !== "NONE") && (log.reported !== null || isCall(log)),
    );

async function recountSome(batch: Batch, changed: Recount[], pause: () => Promise<void>): Promise<void> {
  for (const one of changed.slice(0, MAX_RECOUNTED_LOGS)) {
    await recount(batch, one);
    await pause();
  }
}

async function recount({ context, em, workspaceId }: Batch, { log, counts }: Recount): Promise<void> {
  const usage: Usage | null = counts
    ? await measureUsage(workspaceId, {
        ...log.reported,
        ...{ input: null, output: null, at: log.startTime },
        model: log.model === null ? null : { provider: log.provider, model: log.model },
        findOwnPrice: ownPriceFinder(context, workspaceId),
      })
    : null;
  const change = usage ? { ...usage, aggregateUsage: null } : { ...NO_USAGE, aggregateUsage: log.reported };
  await em.nativeUpdate(Log, { workspace: workspaceId, id: log.id }, change);
}
