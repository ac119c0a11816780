import type { Context } from "../context.ts";
import { piecesOf } from "../database/pieces.ts";
import { storedTime } from "../database/times.ts";
import { totalInput, totalOutput } from "../usage/tokenParts.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { withCopies } from "./copiedAttributes.ts";
import { type Log, type Trace, treeColumns } from "./entities.ts";
import { bytesOfLog } from "./payloads.resolvers.ts";

const PAGE_LOGS = 200;

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

/** Left out of a log in which they are null. */
const treeFields = [
  ...treeColumns,
  "statusMessage",
  "evaluators",
  "aggregateUsage",
  "attributes",
  "events",
] as const;

/** A log with the name and the parties of its trace. Its tokens are those of the whole input and the whole output. */
export type ExportedLog = Pick<Log, (typeof logFields)[number]> & {
  traceId: string;
  traceName: string;
} & Pick<Trace, "user" | "organization"> &
  Partial<Pick<Log, (typeof treeFields)[number]>>;

/** A log as it is exported, by its columns. */
export function toExported<Row extends ExportedLog>(log: Row): Row {
  const totals = { inputTokens: totalInput(log), outputTokens: totalOutput(log) };
  const empty = treeFields.filter((field) => log[field] === null);
  const attributes = log.attributes && withCopies(log.attributes, log);
  return Object.fromEntries(
    Object.entries({ ...log, ...totals, attributes }).filter(([field]) => !empty.includes(field as "name")),
  ) as Row;
}

export interface Period {
  /** Inclusive; null for no start. */
  from: Date | null;
  /** Exclusive; null for no end. */
  to: Date | null;
}

/** The logs of calls that began in a period, the oldest first, in pieces of a few megabytes. */
export async function* logsOfPeriod(context: Context, period: Period): AsyncGenerator<ExportedLog[]> {
  const workspaceId = authorize(context, "read");
  for await (const places of logsInPeriod(context, workspaceId, period)) {
    for (const { piece } of piecesOf(places, ({ bytes }) => bytes)) {
      const ids = piece.map(({ id }) => id);
      yield ((await readLogs(context, workspaceId, ids)) as ExportedLog[]).map(toExported);
      await context.database.turn(workspaceId);
    }
  }
}

type Place = Pick<Log, "id" | "startTime"> & { bytes: number };

/** The ids and lengths of the logs of a period, the oldest first, page by page. */
export async function* logsInPeriod(
  { database }: Context,
  workspaceId: string,
  { from, to }: Period,
): AsyncGenerator<Place[]> {
  let query = database.read
    .selectFrom("Log")
    .select(({ ref }) => ["id", "startTime", bytesOfLog(ref).as("bytes")])
    .where("workspace", "=", workspaceId)
    .orderBy("startTime")
    .orderBy("id")
    .limit(PAGE_LOGS);
  if (from) query = query.where("startTime", ">=", from);
  if (to) query = query.where("startTime", "<", to);
  let page: Place[] = await query.execute();
  while (page.length > 0) {
    yield page;
    const { startTime, id } = page.at(-1)!;
    page = await query
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple("startTime", "id"), ">", tuple(storedTime(database, startTime), id)),
      )
      .execute();
  }
}

function readLogs({ database }: Context, workspaceId: string, ids: string[]) {
  return database.read
    .selectFrom("Log")
    .innerJoin("Trace", "Trace.id", "Log.trace")
    .select([...logFields, ...treeFields].map((field) => `Log.${field}` as const))
    .select([
      "Trace.id as traceId",
      "Trace.name as traceName",
      "Trace.user as user",
      "Trace.organization as organization",
    ])
    .where("Log.workspace", "=", workspaceId)
    .where("Log.id", "in", ids)
    .orderBy("Log.startTime")
    .orderBy("Log.id")
    .execute();
}

/** The number of calls that began in a period. */
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
