import { setImmediate } from "node:timers/promises";
import type { Context } from "../context.ts";
import { whenUnlocked } from "../database/commit.ts";
import { transact } from "../database/transact.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";

const AT_ONCE = 500;

/** How many traces began before a time. */
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
 * Removes the traces that began before a time, with their logs, and gives their number. It goes in small steps, so that
 * nobody who writes meanwhile waits long; what is removed when it is broken off stays removed.
 */
export async function pruneTraces(context: Context, before: Date): Promise<number> {
  const workspaceId = authorize(context, "admin");
  const { read, write } = context.database;
  let removed = 0;
  for (;;) {
    const oldest = await read
      .selectFrom("Trace")
      .select("id")
      .where("workspace", "=", workspaceId)
      .where("startTime", "<", before)
      .orderBy("startTime")
      .limit(AT_ONCE)
      .execute();
    if (oldest.length === 0) break;
    const ids = oldest.map(({ id }) => id);
    await whenUnlocked(() =>
      write.deleteFrom("Trace").where("workspace", "=", workspaceId).where("id", "in", ids).execute(),
    );
    removed += ids.length;
    await setImmediate();
  }
  await transact(context.em, async (em) => {
    const after = { before: before.toISOString(), removed };
    recordChange(em, context, { action: "pruneTraces", subject: "traces", before: null, after });
  });
  return removed;
}
