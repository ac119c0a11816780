import { sql } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf } from "../database/lengths.ts";
import { piecesOf } from "../database/pieces.ts";
import { countCopied } from "../database/requestTransaction.ts";
import { storedTime } from "../database/times.ts";
import { inTransaction } from "../database/transaction.ts";
import { checkIsWaitedFor, withoutDeadline } from "../limits/deadline.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { tokenParts } from "../usage/tokenParts.ts";
import { type FindOwnPrice, measureUsage, rounded } from "../usage/usage.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Log, logPayloadColumns } from "./entities.ts";
import type { RepriceLogsInput } from "./reprice.inputs.ts";

const PAGE_LOGS = 100;

/** What repricing changed. The costs are sums over all examined logs, in US dollars. */
export interface Repricing {
  examined: number;
  changed: number;
  priced: number;
  unpriced: number;
  costBefore: number;
  costAfter: number;
  dryRun: boolean;
}

/**
 * Computes the costs of past calls again by today's prices, except costs that the caller reported. Works in small steps, so that
 * other writes do not wait long; a run that is interrupted, as by the end of the service, is not undone. A price that changes
 * meanwhile holds for the logs that follow.
 */
export async function repriceLogs(context: Context, input: RepriceLogsInput): Promise<Repricing> {
  const workspaceId = authorize(context, "admin");
  return withoutDeadline(context, () => repriceInSteps(context, workspaceId, input)); // a year of logs takes minutes
}

async function repriceInSteps(
  context: Context,
  workspaceId: string,
  input: RepriceLogsInput,
): Promise<Repricing> {
  const dryRun = input.dryRun ?? false;
  const result = { examined: 0, changed: 0, priced: 0, unpriced: 0, costBefore: 0, costAfter: 0, dryRun };
  try {
    for await (const page of pagesOf(context, workspaceId, input)) {
      if (dryRun) checkIsWaitedFor(context);
      if (context.database.longWork.signal.aborted) break;
      const findOwnPrice = ownPriceFinder(context, workspaceId);
      const costs = await Promise.all(
        page.filter(isComputable).map((log) => computeCost(workspaceId, log, findOwnPrice)),
      );
      const skipped = new Set<string>();
      if (!dryRun)
        for (const { piece, bytes } of piecesOf(costs.filter(isChanged), ({ log }) => Number(log.bytes))) {
          countCopied(context.em, bytes);
          await context.database.turn(workspaceId);
          for (const id of await store(context, workspaceId, piece)) skipped.add(id);
        }
      add(
        result,
        costs.filter(({ log }) => !skipped.has(log.id)),
      );
      await context.database.turn(workspaceId);
    }
  } finally {
    if (!dryRun) await record(context, input, result); // an interrupted run as well
  }
  return result;
}

/** What a cost depends on, and the cost. */
const costColumns = ["provider", "model", "cost", "costSource", ...tokenParts] as const;
type LogRow = Pick<Log, "id" | "startTime" | (typeof costColumns)[number]> & { bytes: number };
type Cost = Pick<Log, "cost" | "costSource">;

interface NewCost {
  log: LogRow;
  now: Cost;
}

/** SQLite writes the whole row of a log to change its cost. */
const logBytes = sql<number>`${sql.join(logPayloadColumns.map(lengthOf), sql` + `)}`;

/** All logs of a period, page by page. A page of only computable ones could take a scan of any length. */
async function* pagesOf(
  { database }: Context,
  workspaceId: string,
  { from, to }: { from: Date; to: Date },
): AsyncGenerator<LogRow[]> {
  const inPeriod = database.read
    .selectFrom("Log")
    .select(["id", "startTime", ...costColumns])
    .select(logBytes.as("bytes"))
    .where("workspace", "=", workspaceId)
    .where("startTime", "<", to)
    .orderBy("startTime")
    .orderBy("id")
    .limit(PAGE_LOGS);
  let page: LogRow[] = await inPeriod.where("startTime", ">=", from).execute();
  while (page.length > 0) {
    yield page;
    const { startTime, id } = page.at(-1)!;
    page = await inPeriod
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple("startTime", "id"), ">", tuple(storedTime(database, startTime), id)),
      )
      .execute();
  }
}

type ComputableLog = LogRow & { model: string; inputTokens: number; outputTokens: number };

function isComputable(log: LogRow): log is ComputableLog {
  const { model, inputTokens, outputTokens, costSource } = log;
  const isToCompute = costSource === "COMPUTED" || costSource === "UNPRICED";
  return isToCompute && model !== null && inputTokens !== null && outputTokens !== null;
}

async function computeCost(
  workspaceId: string,
  log: ComputableLog,
  findOwnPrice: FindOwnPrice,
): Promise<NewCost> {
  const { provider, model, startTime: at } = log;
  const parts = Object.fromEntries(tokenParts.map((part) => [part, log[part]]));
  const { cost, costSource } = await measureUsage(workspaceId, {
    ...parts,
    ...{ input: null, output: null, model: { provider, model } },
    at,
    findOwnPrice,
  });
  return { log, now: { cost, costSource } };
}

function isChanged({ log, now }: NewCost): boolean {
  return log.cost !== now.cost || log.costSource !== now.costSource;
}

/** Stores costs and returns the ids of logs that changed or were deleted since they were read, as by a span that is sent again. */
async function store(context: Context, workspaceId: string, changes: NewCost[]): Promise<Set<string>> {
  return inTransaction(context.em, async (em) => {
    const skipped = new Set<string>();
    for (const { log, now } of changes) {
      const asRead = Object.fromEntries(costColumns.map((column) => [column, log[column]]));
      const unchanged = { workspace: workspaceId, id: log.id, ...asRead };
      if ((await em.nativeUpdate(Log, unchanged, now)) === 0) skipped.add(log.id);
    }
    return skipped;
  });
}

function add(result: Repricing, costs: NewCost[]): void {
  for (const { log, now } of costs) {
    result.examined += 1;
    if (isChanged({ log, now })) result.changed += 1;
    if (log.cost === null && now.cost !== null) result.priced += 1;
    if (log.cost !== null && now.cost === null) result.unpriced += 1;
    result.costBefore = rounded(result.costBefore + (log.cost ?? 0));
    result.costAfter = rounded(result.costAfter + (now.cost ?? 0));
  }
}

async function record(context: Context, { from, to }: RepriceLogsInput, result: Repricing): Promise<void> {
  const { dryRun: _, ...figures } = result;
  const after = { from: from.toISOString(), to: to.toISOString(), ...figures };
  await inTransaction(context.em, async (em) =>
    recordChange(em, context, { action: "repriceLogs", subject: "logs", before: null, after }),
  );
}
