import type { Compilable } from "kysely";
import type { Context } from "../context.ts";
import { firstToDelete, inSteps } from "../database/deleteInBatches.ts";
import type { Steps } from "../database/dialect.ts";
import type { Database } from "../database/open.ts";
import { joinOf } from "../database/requestTransaction.ts";
import { inTransaction } from "../database/transaction.ts";
import { GabbroError } from "../errors.ts";
import { checkDeadline, checkIsWaitedFor, withoutDeadline } from "../limits/deadline.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { createStepRunner, mergeWords } from "./mergeWords.resolvers.ts";
import { bytesOfLog, bytesOfTrace } from "./payloads.resolvers.ts";
import type { PruneTracesInput } from "./prune.inputs.ts";
import { type Place, startOf } from "./walk.resolvers.ts";

/** The action of the entries in the audit log. */
export const PRUNE = "pruneTraces";
/** Before all times that a trace may have. */
const FIRST_TIME = new Date("0001-01-01T00:00:00Z");
/** Traces that one statement counts: SQLite blocks other requests meanwhile. */
const COUNTED_AT_ONCE = 25_000;

/** A removal of traces that is under way. */
export interface Pruning {
  before: Date;
  startedAt: Date;
  removed: number;
}

const running = new WeakMap<Database["orm"], Map<string, Pruning>>();

/** The removal of a workspace's traces that this process has under way, if any. */
export function findPruning({ database }: Context, workspaceId: string): Pruning | null {
  return running.get(database.orm)?.get(workspaceId) ?? null;
}

/** Removes the traces that began before a time, or only counts them. */
export async function pruneTraces(
  context: Context,
  { before, dryRun }: PruneTracesInput,
): Promise<{ before: Date; traces: number; dryRun: boolean }> {
  const workspaceId = authorize(context, "admin");
  // A year of traces takes minutes.
  const traces = await withoutDeadline(context, () =>
    dryRun ? countTracesBefore(context, before) : removeTraces(context, workspaceId, before),
  );
  if (traces !== null) return { before, traces, dryRun: dryRun ?? false };
  throw new GabbroError(
    "CONFLICT",
    "Another removal of traces of this workspace is under way; try again when it has ended.",
  );
}

/** The number of traces that began before a time. */
export async function countTracesBefore(context: Context, before: Date): Promise<number> {
  const { database } = context;
  const workspaceId = authorize(context, "admin");
  let traces = 0;
  for (let last: Place | undefined = startOf(context, FIRST_TIME); last; ) {
    checkDeadline(context);
    checkIsWaitedFor(context);
    const from = tracesBetween(database.read, workspaceId, last, before);
    const [next] = await database.rows(from.offset(COUNTED_AT_ONCE - 1).limit(1));
    if (next) traces += COUNTED_AT_ONCE;
    else traces += await count(context, from.limit(COUNTED_AT_ONCE));
    last = next;
    await database.turn(workspaceId);
  }
  return traces;
}

async function count({ database }: Context, traces: ReturnType<typeof tracesBetween>): Promise<number> {
  const counted = database.read
    .selectFrom(traces.as("part"))
    .select(({ fn }) => fn.countAll<number>().as("traces"));
  return Number((await database.rows(counted))[0]!.traces);
}

/**
 * Deletes the traces of a workspace that began before a time, with their logs, the oldest first, until all are gone or `signal`
 * aborts, by default when the service stops. Works in small steps, so that other writes do not wait long; an interrupted run is
 * not undone. Returns the number of traces, or null when another run removes traces of the workspace.
 */
export async function removeTraces(
  context: Context,
  workspaceId: string,
  before: Date,
  signal = context.database.longWork.signal,
): Promise<number | null> {
  const { orm, dialect } = context.database;
  const ofDatabase = running.get(orm) ?? new Map<string, Pruning>();
  running.set(orm, ofDatabase);
  if (ofDatabase.has(workspaceId)) return null;
  const run: Pruning = { before, startedAt: new Date(), removed: 0 };
  ofDatabase.set(workspaceId, run);
  try {
    const remove = async () => {
      try {
        await removeInSteps(context, workspaceId, run, signal);
      } finally {
        await record(context, run); // an interrupted run as well
      }
      return run.removed;
    };
    // The transaction of a request with an Idempotency-Key lasts for a second at most.
    return await (joinOf(context.em) ? remove() : dialect.removeAlone(orm, workspaceId, remove));
  } finally {
    ofDatabase.delete(workspaceId);
  }
}

async function removeInSteps(
  context: Context,
  workspaceId: string,
  run: Pruning,
  signal: AbortSignal,
): Promise<void> {
  const runStep = createStepRunner(context);
  let at: Progress = { last: startOf(context, FIRST_TIME), begun: null };
  await inSteps(
    async (maxRows) => {
      const oldest = { workspaceId, before: run.before, at, maxRows };
      const step = await runStep(() => removeOldest(context.database, oldest));
      if (!step) return null;
      at = step.at;
      run.removed += step.removed;
      await mergeWords(context, workspaceId, { signal });
      return step.tookMs;
    },
    signal,
    context.database.dialect.maxRemovedRows,
  );
}

/** Where a run goes on. To scan removed rows takes PostgreSQL longer each time, until a vacuum. */
interface Progress {
  /** The last trace that was removed. */
  last: Place;
  /** Traces with more logs than a step deletes, and the last that was removed, until none is left behind it. */
  begun: { traces: Place[]; lastLog: LogPlace | null } | null;
}

interface LogPlace {
  trace: string;
  id: string;
}

interface Oldest {
  workspaceId: string;
  before: Date;
  at: Progress;
  maxRows: number;
}

/**
 * Deletes some traces with all their logs, or some logs if those traces have more than one step deletes. The time that it returns
 * leaves out the commit, which waits for the disk for any number of rows: with it, a slow disk would shrink the steps to a row.
 */
function* removeOldest(
  database: Database,
  { workspaceId, before, at, maxRows }: Oldest,
): Steps<{ at: Progress; removed: number; tookMs: number } | null> {
  const startMs = performance.now();
  const { read } = database; // only to write the statements, which the step runs
  const maxLogs = Math.ceil(maxRows / 2);
  const next = tracesBetween(read, workspaceId, at.last, before)
    .select(({ ref }) => bytesOfTrace(ref).as("bytes"))
    .limit(maxLogs);
  const traces = at.begun?.traces ?? startOfStep((yield statementOf(next)) as (Place & Sized)[]);
  const end = traces.at(-1);
  if (!end) return null;
  const ids = traces.map(({ id }) => id);
  const logs = (yield statementOf(
    logsAfter(database, workspaceId, ids, at.begun?.lastLog ?? null).limit(maxLogs + 1),
  )) as (LogPlace & Sized)[];
  const some = startOfStep(logs.slice(0, maxLogs));
  const tookMs = () => performance.now() - startMs;
  if (some.length < logs.length) {
    yield statementOf(deletionOf(database, "Log", workspaceId, some));
    const begun = { traces, lastLog: some.at(-1)! };
    return { at: { ...at, begun }, removed: 0, tookMs: tookMs() };
  }
  // Spans that arrived meanwhile may lie before the last log: their traces are only deleted once all their logs fit into a step.
  if (at.begun?.lastLog)
    return { at: { ...at, begun: { traces, lastLog: null } }, removed: 0, tookMs: tookMs() };
  const removed = yield statementOf(deletionOf(database, "Trace", workspaceId, traces));
  return { at: { last: end, begun: null }, removed: removed.length, tookMs: tookMs() };
}

const deletionOf = (
  { read, search }: Database,
  entity: "Trace" | "Log",
  workspaceId: string,
  rows: { id: string }[],
) =>
  read
    .deleteFrom(entity)
    .where("workspace", "=", search.unestimated(workspaceId))
    .where(
      "id",
      "in",
      rows.map(({ id }) => id),
    )
    .returning("id as id");

function logsAfter({ read, search }: Database, workspaceId: string, traces: string[], last: LogPlace | null) {
  const logs = read
    .selectFrom("Log")
    .select(({ ref }) => ["trace as trace", "id as id", bytesOfLog(ref).as("bytes")])
    .where("workspace", "=", search.unestimated(workspaceId))
    .where("trace", "in", traces)
    .orderBy("trace")
    .orderBy("id");
  if (!last) return logs;
  return logs.where(({ eb, refTuple, tuple }) =>
    eb(refTuple("trace", "id"), ">", tuple(last.trace, last.id)),
  );
}

type Sized = Record<string, unknown> & { bytes: number | string };

const startOfStep = <Row extends Sized>(rows: Row[]) => firstToDelete(rows, ({ bytes }) => Number(bytes));

const statementOf = (query: Compilable) => {
  const { sql, parameters } = query.compile();
  return { statement: sql, values: [...parameters] };
};

/** The traces after a place that began before a time, the oldest first. */
const tracesBetween = (database: Database["read"], workspaceId: string, last: Place, before: Date) =>
  database
    .selectFrom("Trace")
    .select(["startTime as startTime", "id as id"])
    .where("workspace", "=", workspaceId)
    .where("startTime", "<", before)
    .where(({ eb, refTuple, tuple }) => eb(refTuple("startTime", "id"), ">", tuple(last.startTime, last.id)))
    .orderBy("startTime")
    .orderBy("id");

/** Adds an entry to the audit log, unless there was nothing to remove. */
async function record(context: Context, { before, startedAt, removed }: Pruning): Promise<void> {
  if (removed === 0) return;
  const after = { before: before.toISOString(), removed, startedAt: startedAt.toISOString() };
  await inTransaction(context.em, async (em) => {
    recordChange(em, context, { action: PRUNE, subject: "traces", before: null, after });
  });
}
