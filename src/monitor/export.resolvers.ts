import { setImmediate } from "node:timers/promises";
import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Log, Trace } from "./entities.ts";

const AT_ONCE = 200;

const logFields = [
  "id",
  "type",
  "promptSlug",
  "version",
  "tag",
  "model",
  "input",
  "output",
  "idealOutput",
  "variables",
  "metadata",
  "startTime",
  "endTime",
  "latencyMs",
  "inputTokens",
  "outputTokens",
  "cost",
  "costSource",
  "createdAt",
] as const;

/** A log with what its trace tells of it. */
export type ExportedLog = Pick<Log, (typeof logFields)[number]> & {
  traceId: string;
  traceName: string;
} & Pick<Trace, "user" | "organization">;

export interface Period {
  /** The first moment; null for the beginning. */
  from: Date | null;
  /** The first moment that is not in it any more; null for no end. */
  to: Date | null;
}

/** The logs of calls that began in a period, the oldest first, piece by piece. */
export async function* logsOfPeriod(context: Context, { from, to }: Period): AsyncGenerator<ExportedLog[]> {
  const workspaceId = authorize(context, "read");
  let query = context.database.read
    .selectFrom("Log")
    .innerJoin("Trace", "Trace.id", "Log.trace")
    .select(logFields.map((field) => `Log.${field}` as const))
    .select([
      "Trace.id as traceId",
      "Trace.name as traceName",
      "Trace.user as user",
      "Trace.organization as organization",
    ])
    .where("Log.workspace", "=", workspaceId)
    .orderBy("Log.startTime")
    .orderBy("Log.id")
    .limit(AT_ONCE);
  if (from) query = query.where("Log.startTime", ">=", from);
  if (to) query = query.where("Log.startTime", "<", to);
  for (let last: ExportedLog | undefined; ; ) {
    const after = last;
    const page = after
      ? query.where(({ eb, or, and }) =>
          or([
            eb("Log.startTime", ">", after.startTime),
            and([eb("Log.startTime", "=", after.startTime), eb("Log.id", ">", after.id)]),
          ]),
        )
      : query;
    const logs = (await page.execute()) as ExportedLog[];
    if (logs.length > 0) yield logs;
    if (logs.length < AT_ONCE) return;
    last = logs.at(-1);
    await setImmediate();
  }
}

/** How many logs there are of calls that began in a period. */
export async function countLogsOfPeriod(context: Context, { from, to }: Period): Promise<number> {
  const workspaceId = authorize(context, "read");
  let query = context.database.read
    .selectFrom("Log")
    .select(({ fn }) => fn.countAll<number>().as("logs"))
    .where("workspace", "=", workspaceId);
  if (from) query = query.where("startTime", ">=", from);
  if (to) query = query.where("startTime", "<", to);
  return Number((await query.executeTakeFirstOrThrow()).logs);
}
