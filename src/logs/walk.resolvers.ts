import { performance } from "node:perf_hooks";
import type { Compilable, Expression, ExpressionBuilder } from "kysely";
import type { Context } from "../context.ts";
import type { Tables } from "../database/conditions.ts";
import { storedTime } from "../database/times.ts";
import { checkDeadline } from "../limits/deadline.ts";

/** A position in the order of all logs: by start time, as the database stores it, then by id. */
export interface Place {
  startTime: Date;
  id: string;
}

/** The logs from one place to another, the newest first. */
export interface Stretch {
  /** The logs before this place, or up to the newest. */
  before: Place | null;
  /** Down to this one, or to the oldest. */
  downTo: Place | null;
}

/**
 * A query of SQLite blocks this process. Logs are therefore examined in stretches of an index, whose length adapts so that
 * each blocks for about this long.
 */
const STRETCH_MS = 5;
const FIRST_STRETCH = 500;
const MIN_STRETCH = 50;
const MAX_STRETCH = 1_000;

export type LogBuilder = ExpressionBuilder<Tables, "Log">;

/** The index along which logs are found: by time, or those of a prompt, a user, an organization or a few keys. */
export interface Lead {
  workspaceId: string;
  by: { [Column in "promptSlug" | "userId" | "organizationId"]?: string } | { keys: (string | number)[] };
}

/** The logs of a lead within a stretch. */
export function logsIn(context: Pick<Context, "database">, lead: Lead, stretch: Stretch) {
  const { before, downTo } = stretch;
  const query = logsOf(context, lead);
  // With a bound of the time beside the pairs, PostgreSQL begins at the first log of that time: it may be that of 100,000 logs.
  if (before && downTo && Number(before.startTime) === Number(downTo.startTime))
    return query
      .where("startTime", "=", before.startTime)
      .where("id", "<", before.id)
      .where("id", ">=", downTo.id);
  let bounded = within(query, stretch);
  if (context.database.search.isServer) {
    // PostgreSQL estimates that a comparison of pairs matches a third of all logs, and would then read them all.
    if (before) bounded = bounded.where("startTime", "<=", before.startTime);
    if (downTo) bounded = bounded.where("startTime", ">=", downTo.startTime);
  }
  return bounded;
}

function logsOf({ database }: Pick<Context, "database">, { workspaceId, by }: Lead) {
  const { search } = database;
  let query = database.read.selectFrom("Log");
  if ("keys" in by)
    return query
      .where(search.key as "id", "in", by.keys as string[])
      .where(({ eb, ref }) => eb(search.unindexed(ref("workspace")), "=", workspaceId));
  query = query.where("workspace", "=", workspaceId);
  for (const [column, value] of Object.entries(by))
    query = query.where(({ ref }) => search.indexedEquals(ref(column as "userId"), value));
  return query;
}

/**
 * The logs of some traces within a stretch, found by trace alone: beside both bounds of the time SQLite reads all logs between them,
 * which for one page of traces took 0.8 to 1.1 s at 250,000.
 */
export function logsOfTraces(
  { database }: Pick<Context, "database">,
  { workspaceId, traces }: { workspaceId: string; traces: string[] },
  stretch: Stretch,
) {
  const { read, search } = database;
  const logs = read.selectFrom("Log").where("workspace", "=", workspaceId).where("trace", "in", traces);
  return within(logs, stretch, search.unindexed);
}

function within(
  query: ReturnType<typeof logsOf>,
  { before, downTo }: Stretch,
  asTime: <T>(time: Expression<T>) => Expression<T> = (time) => time,
) {
  let bounded = query;
  if (before)
    bounded = bounded.where(({ eb, ref, tuple }) =>
      eb(tuple(asTime(ref("startTime")), ref("id")), "<", tuple(before.startTime, before.id)),
    );
  if (downTo)
    bounded = bounded.where(({ eb, ref, tuple }) =>
      eb(tuple(asTime(ref("startTime")), ref("id")), ">=", tuple(downTo.startTime, downTo.id)),
    );
  return bounded;
}

/** The place before all logs, or traces, that began at a time: no id is below its own. */
export function startOf({ database }: Pick<Context, "database">, time: Date): Place {
  return { startTime: storedTime(database, time), id: "00000000-0000-0000-0000-000000000000" };
}

/**
 * The rows of a statement that looks at many logs for few, in the places of searches where there are any. With the connections of
 * its workspace, 40 callers who looked for six users and four tags had others wait for 0.3 to 0.5 s on PostgreSQL, and were
 * answered half as often.
 */
export function examinedRows<Row>(
  { database: { rows, search } }: Pick<Context, "database">,
  workspaceId: string,
  statement: Compilable<Row>,
): Promise<Row[]> {
  return search.findRows ? search.findRows(workspaceId, statement) : rows(statement);
}

/** Whether logs are found by a value: PostgreSQL passes over all that begin like it, as its index has only their beginnings. */
export const hasLead = ({ by }: Lead): boolean => Object.keys(by).length > 0;

/** The stretches of a range of a lead's logs, the newest first; other requests run in between. */
export async function* stretches(context: Context, lead: Lead, range: Stretch): AsyncGenerator<Stretch> {
  let { before } = range;
  let entries = FIRST_STRETCH;
  for (;;) {
    await context.database.turn(lead.workspaceId);
    checkDeadline(context);
    const { active } = performance.eventLoopUtilization();
    const last = within(logsOf(context, lead), { before, downTo: range.downTo })
      .select(["startTime as startTime", "id as id"])
      .orderBy("startTime", "desc")
      .orderBy("id", "desc")
      .limit(1)
      .offset(entries - 1);
    const [end] = await (hasLead(lead)
      ? examinedRows(context, lead.workspaceId, last)
      : context.database.rows(last));
    yield { before, downTo: end ?? range.downTo };
    if (!end) return;
    before = end;
    const tookMs = performance.eventLoopUtilization().active - active;
    // While PostgreSQL searches, other requests keep this process busy: the measured time says nothing.
    if (context.database.search.isServer || tookMs < STRETCH_MS / 2)
      entries = Math.min(MAX_STRETCH, entries * 2);
    else if (tookMs > STRETCH_MS) entries = Math.max(MIN_STRETCH, Math.floor(entries / 2));
  }
}
