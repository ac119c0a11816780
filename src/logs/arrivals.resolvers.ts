import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";

/** When the newest trace began; null when there is none. */
export async function findLastStart(context: Context): Promise<Date | null> {
  const row = await context.database.read
    .selectFrom("Trace")
    .select("startTime")
    .where("workspace", "=", authorize(context, "read"))
    .orderBy("startTime", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.startTime ?? null;
}

/** The numbers of traces and of logs that began at a time or later. */
export async function countStartedSince(
  context: Context,
  since: Date,
): Promise<{ traces: number; logs: number }> {
  const workspace = authorize(context, "read");
  const count = async (entity: "Trace" | "Log") => {
    const { rows } = await context.database.read
      .selectFrom(entity)
      .select(({ fn }) => fn.countAll<number>().as("rows"))
      .where("workspace", "=", workspace)
      .where("startTime", ">=", since)
      .executeTakeFirstOrThrow();
    return Number(rows);
  };
  return { traces: await count("Trace"), logs: await count("Log") };
}
