import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import { authorize, contextWithoutToken } from "../workspaces/resolvers.ts";
import { countTracesBefore, findPruning, PRUNE, type Pruning, removeTraces } from "./prune.resolvers.ts";

const DAY_MS = 86_400_000;
/** After this time the traces of the next workspace are removed, so that one which keeps adding old ones delays no other for long. */
const TURN_MS = 600_000;
/** Entries of the audit log that are searched for the last run. */
const SEARCHED_ENTRIES = 1_000;

/** The name of Gabbro itself in the audit log. */
const NAME = "retention";

/** The beginning of the first day whose traces are kept. Whole days of UTC: a run a day makes one entry in the audit log. */
function startOfRetention(days: number): Date {
  return new Date((Math.floor(Date.now() / DAY_MS) - days) * DAY_MS);
}

/**
 * Removes the traces of all workspaces that are older than so many days, each for `turnMs` at most; the next run goes on. Those
 * that another process removes are left to it.
 */
export async function removeExpiredTraces(
  database: Database,
  days: number,
  signal?: AbortSignal,
  turnMs = TURN_MS,
): Promise<void> {
  const before = startOfRetention(days);
  const workspaces = await database.read
    .selectFrom("Workspace")
    .select("id")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("Trace")
          .select("Trace.id")
          .whereRef("Trace.workspace", "=", "Workspace.id")
          .where("Trace.startTime", "<", before),
      ),
    )
    .orderBy("id")
    .execute();
  for (const { id } of workspaces) {
    if (signal?.aborted) return;
    const turn = AbortSignal.any([...(signal ? [signal] : []), AbortSignal.timeout(turnMs)]);
    await removeTraces(contextWithoutToken(database, id, NAME), id, before, turn);
  }
}

/** A removal of traces that ended, or was interrupted. */
export interface PastPruning {
  before: Date;
  endedAt: Date;
  removed: number;
  tokenName: string;
}

export interface Retention {
  days: number | null;
  /** Null when traces are kept for ever. */
  before: Date | null;
  run: Pruning | null;
}

/** How long the traces of the workspace are kept, and the removal that is under way. */
export function getRetention(context: Context): Retention {
  const workspaceId = authorize(context, "admin");
  const { retentionDays: days } = context;
  const before = days === null ? null : startOfRetention(days);
  return { days, before, run: findPruning(context, workspaceId) };
}

/** How many traces the next run removes. */
export async function countExpiredTraces(context: Context, { before }: Retention): Promise<number> {
  return before ? countTracesBefore(context, before) : 0;
}

/** When the oldest trace of the workspace began; null when there is none. */
export async function findOldestStart(context: Context): Promise<Date | null> {
  const oldest = await context.database.read
    .selectFrom("Trace")
    .select("startTime")
    .where("workspace", "=", authorize(context, "admin"))
    .orderBy("startTime")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return oldest?.startTime ?? null;
}

/** The last removal of traces among the newest entries of the audit log; null when there is none. */
export async function findLastPruning(context: Context): Promise<PastPruning | null> {
  const entry = await context.database.read
    .selectFrom(({ selectFrom }) =>
      selectFrom("AuditEntry")
        .select(["id", "action"])
        .where("workspace", "=", authorize(context, "admin"))
        .orderBy("id", "desc")
        .limit(SEARCHED_ENTRIES)
        .as("AuditEntry"),
    )
    .select("id")
    .where("action", "=", PRUNE)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return entry ? readPruning(context, entry.id) : null;
}

async function readPruning(context: Context, id: string): Promise<PastPruning | null> {
  const entry = await context.database.read
    .selectFrom("AuditEntry")
    .select(["createdAt", "tokenName", "after"])
    .where("workspace", "=", authorize(context, "admin"))
    .where("id", "=", id)
    .executeTakeFirst();
  const { before, removed } = (entry?.after ?? {}) as { before?: string; removed?: number };
  if (!entry || before === undefined || removed === undefined) return null;
  return { before: new Date(before), removed, endedAt: entry.createdAt, tokenName: entry.tokenName };
}
