import type { Context } from "../context.ts";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { inTransaction } from "../database/transaction.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";

/** The number of traces that began before a time. */
export async function countTracesBefore(context: Context, before: Date): Promise<number> {
  const workspaceId = authorize(context, "read");
  const { traces } = await context.database.read
    .selectFrom("Trace")
    .select(({ fn }) => fn.countAll<number>().as("traces"))
    .where("workspace", "=", workspaceId)
    .where("startTime", "<", before)
    .executeTakeFirstOrThrow();
  return Number(traces);
}

/**
 * Deletes the traces that began before a time, with their logs, and returns their number. Works in small steps, so that
 * other writes do not wait long; an interrupted run is not undone.
 */
export async function pruneTraces(context: Context, before: Date): Promise<number> {
  const workspaceId = authorize(context, "admin");
  const { read, write } = context.database;
  const oldest = read
    .selectFrom("Trace")
    .select("id")
    .where("workspace", "=", workspaceId)
    .where("startTime", "<", before)
    .orderBy("startTime");
  const removal = write.deleteFrom("Trace").where("workspace", "=", workspaceId);
  const removed = await deleteInBatches({
    find: (maxRows) => oldest.limit(maxRows).execute(),
    remove: (ids) => retryWhileLocked(() => removal.where("id", "in", ids).execute()),
  });
  await inTransaction(context.em, async (em) => {
    const after = { before: before.toISOString(), removed };
    recordChange(em, context, { action: "pruneTraces", subject: "traces", before: null, after });
  });
  return removed;
}
