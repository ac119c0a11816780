import { setImmediate } from "node:timers/promises";
import type { Context } from "../context.ts";
import { storedTime } from "../database/times.ts";
import { inTransaction } from "../database/transaction.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { loadOwnPrices } from "../pricing/resolvers.ts";
import { type FindOwnPrice, measureUsage, rounded } from "../usage/usage.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Log } from "./entities.ts";
import type { RepriceLogsInput } from "./reprice.inputs.ts";

const AT_ONCE = 100;

/** What repricing found and changed; costs are in US dollars, of all logs that were examined. */
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
 * Computes the costs of past calls again, by the prices as they are now, where the caller had reported none. It goes in
 * small steps, so that nobody who writes meanwhile waits long; what is changed when it is broken off stays changed.
 */
export async function repriceLogs(context: Context, input: RepriceLogsInput): Promise<Repricing> {
  const workspaceId = authorize(context, "admin");
  const dryRun = input.dryRun ?? false;
  disableDeadline(context); // of a year of logs it rightly takes minutes, and who asks for it waits
  const findOwnPrice = await loadOwnPrices(context, workspaceId);
  const result = { examined: 0, changed: 0, priced: 0, unpriced: 0, costBefore: 0, costAfter: 0, dryRun };
  try {
    for await (const page of pagesOf(context, workspaceId, input)) {
      const judged = await Promise.all(
        page.filter(isOpen).map((log) => judge(workspaceId, log, findOwnPrice)),
      );
      const gone = dryRun ? new Set() : await store(context, workspaceId, judged.filter(isChanged));
      const kept = judged.filter(({ log }) => !gone.has(log.id));
      add(result, kept);
      await setImmediate();
    }
  } finally {
    if (!dryRun) await record(context, input, result); // also what was changed before it was broken off
  }
  return result;
}

type LogRow = Pick<
  Log,
  "id" | "startTime" | "provider" | "model" | "inputTokens" | "outputTokens" | "cost" | "costSource"
>;
type Cost = Pick<Log, "cost" | "costSource">;

interface Judged {
  log: LogRow;
  now: Cost;
}

/** All logs of a time, page by page: a page of only those to be examined could lie behind any number of others. */
async function* pagesOf(
  { database }: Context,
  workspaceId: string,
  { from, to }: { from: Date; to: Date },
): AsyncGenerator<LogRow[]> {
  const inTime = database.read
    .selectFrom("Log")
    .select(["id", "startTime", "provider", "model", "inputTokens", "outputTokens", "cost", "costSource"])
    .where("workspace", "=", workspaceId)
    .where("startTime", "<", to)
    .orderBy("startTime")
    .orderBy("id")
    .limit(AT_ONCE);
  let page: LogRow[] = await inTime.where("startTime", ">=", from).execute();
  while (page.length > 0) {
    yield page;
    const { startTime, id } = page.at(-1)!;
    page = await inTime
      .where(({ eb, refTuple, tuple }) =>
        eb(refTuple("startTime", "id"), ">", tuple(storedTime(database, startTime), id)),
      )
      .execute();
  }
}

type OpenLog = LogRow & { model: string; inputTokens: number; outputTokens: number };

function isOpen(log: LogRow): log is OpenLog {
  const { model, inputTokens, outputTokens, costSource } = log;
  return costSource !== "REPORTED" && model !== null && inputTokens !== null && outputTokens !== null;
}

async function judge(workspaceId: string, log: OpenLog, findOwnPrice: FindOwnPrice): Promise<Judged> {
  const { provider, model, inputTokens, outputTokens, startTime: at } = log;
  const counts = { input: null, output: null, inputTokens, outputTokens };
  const { cost, costSource } = await measureUsage(workspaceId, {
    ...counts,
    model: { provider, model },
    at,
    findOwnPrice,
  });
  return { log, now: { cost, costSource } };
}

function isChanged({ log, now }: Judged): boolean {
  return log.cost !== now.cost || log.costSource !== now.costSource;
}

/** Stores costs, and gives the ids of logs that were removed or reported since they were read. */
async function store(context: Context, workspaceId: string, changes: Judged[]): Promise<Set<string>> {
  if (changes.length === 0) return new Set();
  return inTransaction(context.em, async (em) => {
    const gone = new Set<string>();
    for (const { log, now } of changes) {
      const stillOpen = { workspace: workspaceId, id: log.id, costSource: { $ne: "REPORTED" as const } };
      if ((await em.nativeUpdate(Log, stillOpen, now)) === 0) gone.add(log.id);
    }
    return gone;
  });
}

function add(result: Repricing, judged: Judged[]): void {
  for (const { log, now } of judged) {
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
