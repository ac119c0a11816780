import { NIL } from "uuid";
import type { Context } from "../context.ts";
import type { EntityManager } from "../database/open.ts";
import type { Pause } from "../limits/turns.ts";
import { type TokenParts, tokenParts } from "../usage/tokenParts.ts";
import { hasUsage, type ReportingLog } from "./counted.ts";
import { type AggregateUsage, treeColumns } from "./entities.ts";

/** The transaction of a batch of spans. */
export interface Batch {
  context: Context;
  em: EntityManager;
  workspaceId: string;
}

/**
 * Stored logs that are read for a batch, of all its traces together. Which logs of the other traces count is decided among the
 * logs of the batch. It bounds the time that a batch holds the transaction, in which SQLite stores nothing else.
 */
export const MAX_COMPARED_LOGS = 5_000;
/** As many as a page of a tree has. */
const PAGE_LOGS = 500;

/** A stored log without its payload. */
export interface StoredLog extends ReportingLog {
  trace: string;
  provider: string | null;
  startTime: Date;
}

const columns = [
  ...["id", "trace", "type", "startTime", "provider", "model", "cost", "costSource"],
  ...["inputTokens", "outputTokens", ...treeColumns],
] as const;

type StoredRow = Omit<StoredLog, "startMs" | "reported" | keyof TokenParts> & TokenParts;

/** The logs of traces without their payloads; none of the traces with which they would be more than `maxLogs`. */
export async function readStored(
  batch: Batch,
  traceIds: string[],
  { pause, maxLogs }: { pause: Pause; maxLogs: number },
): Promise<StoredLog[]> {
  const logs: StoredLog[] = [];
  let left = maxLogs;
  for (const traceId of traceIds) {
    if (left <= 0) break;
    const ofTrace: StoredLog[] = [];
    let page: StoredLog[];
    do {
      page = await readPage(batch, traceId, {
        after: ofTrace.at(-1)?.id ?? null,
        limit: Math.min(PAGE_LOGS, left + 1),
      });
      for (const log of page) ofTrace.push(log);
      left -= page.length;
      await pause();
    } while (page.length === PAGE_LOGS && left >= 0);
    if (left >= 0) for (const log of ofTrace) logs.push(log);
  }
  return logs;
}

interface Page {
  after: string | null;
  limit: number;
}

async function readPage(batch: Batch, traceId: string, page: Page): Promise<StoredLog[]> {
  const { context, em } = batch;
  const logs = logsAfter(batch, traceId, page)
    .select(columns.map((column) => `${column as "id"} as ${column as "id"}` as const))
    .$castTo<StoredRow>();
  const rows = await context.database.rowsWithin(em, logs);
  const usages = await readAggregateUsages(batch, traceId, page);
  return rows.map(({ startTime: stored, ...log }) => {
    const startTime = new Date(stored);
    const reported = usages.get(log.id) ?? ownUsage(log);
    return { ...log, startTime, startMs: startTime.getTime(), reported };
  });
}

/** In a statement of its own, as SQLite then finds all of it in an index. */
async function readAggregateUsages(batch: Batch, traceId: string, page: Page) {
  const { context, em } = batch;
  const logs = logsAfter(batch, traceId, page)
    .select(["id as id", "aggregateUsage as aggregateUsage"])
    .where("aggregateUsage", "is not", null)
    .$castTo<{ id: string; aggregateUsage: string }>();
  const rows = await context.database.rowsWithin(em, logs);
  return new Map(
    rows.map(({ id, aggregateUsage }): [string, AggregateUsage] => [id, JSON.parse(aggregateUsage)]),
  );
}

function logsAfter({ context, workspaceId }: Batch, traceId: string, { after, limit }: Page) {
  return context.database.read
    .selectFrom("Log")
    .where("workspace", "=", workspaceId)
    .where("trace", "=", traceId)
    .where("id", ">", after ?? NIL) // also for the first page: only with a range does SQLite choose the index with the usage
    .orderBy("id")
    .limit(limit);
}

function ownUsage(log: Pick<StoredRow, keyof TokenParts | "cost" | "costSource">) {
  const parts = Object.fromEntries(tokenParts.map((part) => [part, log[part]])) as Pick<
    AggregateUsage,
    (typeof tokenParts)[number]
  >;
  const usage = { ...parts, cost: log.costSource === "REPORTED" ? log.cost : null };
  return hasUsage(usage) ? usage : null;
}
