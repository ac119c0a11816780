import { LockMode } from "@mikro-orm/core";
import { MAX_PIECE_BYTES, piecesOf } from "../database/pieces.ts";
import { createPause, type Pause } from "../limits/turns.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { type FindOwnPrice, measureUsage, type Usage } from "../usage/usage.ts";
import { countedIds, isCall } from "./counted.ts";
import { Log, Trace } from "./entities.ts";
import { insertLogs } from "./insertLogs.resolvers.ts";
import { bytesOfLogs } from "./spanPieces.resolvers.ts";
import { type SpanStep, storeTraces } from "./spanTraces.resolvers.ts";
import { NO_USAGE, toReporting, toRows } from "./steps.resolvers.ts";
import { type Batch, MAX_COMPARED_LOGS, readStored, type StoredLog } from "./storedLogs.resolvers.ts";
import { treeOf } from "./tree.ts";

/**
 * Stored logs that one transaction recounts, in 100 ms; on SQLite 4 MB of them at most. One span can change a chain of 5,000 calls:
 * all take 6 s. SQLite writes whole rows: with 48 logs of 9 MB, others waited for 1.7 s.
 */
const MAX_RECOUNTED_LOGS = 100;

/** For each 64 logs that are removed at once, SQLite rewrites some of their words in the same turn: for 512 in up to 0.57 s. */
const MAX_REMOVED_AT_ONCE = 64;

/**
 * Stores completed spans and their traces in the transaction of a batch. Returns the rows of the logs, the ids of the traces
 * whose stored logs `recountTrace` has yet to recount, and how many logs the rows replace.
 */
export async function storeSpans(batch: Batch, steps: SpanStep[]) {
  const pause = createPause();
  const storedIds = await storeTraces(batch, steps, pause);
  const { rows, toRecount } = await toCountedRows(batch, steps, { storedIds, pause });
  const replaced = storedIds.length > 0 ? await removeStored(batch, rows, pause) : 0;
  await insertLogs(batch, rows, pause);
  return { rows, toRecount, replaced };
}

/** Removes the logs that rows replace: 30 of 6 MB, which 3 kB of spans may replace, took SQLite 0.1 s in one statement. */
async function removeStored(batch: Batch, rows: { id: string }[], pause: Pause): Promise<number> {
  const { em, workspaceId } = batch;
  const bytes = await lengthsOf(
    batch,
    rows.map(({ id }) => id),
  );
  const bytesOf = ({ id }: { id: string }) =>
    Math.max(bytes.get(id) ?? 0, MAX_PIECE_BYTES / MAX_REMOVED_AT_ONCE);
  let removed = 0;
  for (const { piece } of piecesOf(rows, bytesOf)) {
    removed += await em.nativeDelete(Log, { workspace: workspaceId, id: { $in: piece.map(({ id }) => id) } });
    await pause();
  }
  return removed;
}

const lengthsOf = ({ context, em }: Batch, ids: string[]): Promise<Map<string, number>> =>
  bytesOfLogs(context, ids, (query) => context.database.rowsWithin(em, query));

/**
 * Recounts stored logs of a trace in a transaction of their own; returns whether more are left. The trace may have grown by
 * `stored` logs since it was decided that it is compared as a whole.
 */
export async function recountTrace(batch: Batch, traceId: string, stored: number): Promise<boolean> {
  const pause = createPause();
  await batch.em.find(Trace, { id: traceId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  const logs = await readStored(batch, [traceId], { pause, maxLogs: MAX_COMPARED_LOGS + stored });
  const changed = toRecounts(logs, countedIds(treeOf(logs)));
  return (await recountSome(batch, changed, pause)) < changed.length;
}

/** The rows of the logs, after looking at their traces as a whole: a log may stop counting when one below it comes. */
async function toCountedRows(
  batch: Batch,
  steps: SpanStep[],
  { storedIds, pause }: { storedIds: string[]; pause: Pause },
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
  const recounted = await recountSome(batch, changed, pause);
  const rows = toRows(
    steps.map(({ step }) => step),
    counted,
  );
  return { rows, toRecount: [...new Set(changed.slice(recounted).map(({ log }) => log.trace))] };
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

/** Recounts the first logs, as many as one transaction may; returns their number. */
async function recountSome(batch: Batch, changed: Recount[], pause: Pause): Promise<number> {
  if (changed.length === 0) return 0;
  const some = changed.slice(0, MAX_RECOUNTED_LOGS);
  const ids = some.map(({ log }) => log.id);
  const bytes = await lengthsOf(batch, ids);
  const maxBytes = batch.context.database.search.isServer ? Number.POSITIVE_INFINITY : MAX_PIECE_BYTES;
  const [first] = piecesOf(some, ({ log }) => bytes.get(log.id) ?? 0, maxBytes);
  const { piece } = first!;
  const findOwnPrice = ownPriceFinder(batch.context, batch.workspaceId);
  for (const one of piece) {
    await recount(batch, one, findOwnPrice);
    await pause();
  }
  return piece.length;
}

async function recount(
  { em, workspaceId }: Batch,
  { log, counts }: Recount,
  findOwnPrice: FindOwnPrice,
): Promise<void> {
  const usage: Usage | null = counts
    ? await measureUsage(workspaceId, {
        ...log.reported,
        ...{ input: null, output: null, at: log.startTime },
        model: log.model === null ? null : { provider: log.provider, model: log.model },
        findOwnPrice,
      })
    : null;
  const change = usage ? { ...usage, aggregateUsage: null } : { ...NO_USAGE, aggregateUsage: log.reported };
  await em.nativeUpdate(Log, { workspace: workspaceId, id: log.id }, change);
}
