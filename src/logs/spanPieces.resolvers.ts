import type { Compilable } from "kysely";
import type { Context } from "../context.ts";
import { MAX_PIECE_BYTES } from "../database/pieces.ts";
import { bytesOfLog, bytesOfTrace } from "./payloads.resolvers.ts";
import type { SpanStep } from "./spanTraces.resolvers.ts";

/**
 * The spans of each transaction. On SQLite, whose writers wait for it, one ends where the stored logs and traces that it may rewrite
 * reach 4 MB: 48 spans of 9 kB, each for a trace of 9 MB, had others wait for 1.8 s.
 */
export async function transactionsOf(context: Context, steps: SpanStep[]): Promise<SpanStep[][]> {
  if (context.database.search.isServer) return [steps];
  const traceIds = [...new Set(steps.map(({ traceId }) => traceId))];
  const traces = await bytesOfTraces(context, traceIds);
  if (traces.size === 0) return [steps];
  const logIds = steps.map(({ step }) => step.row.id);
  const logs = await bytesOfLogs(context, logIds);
  const transactions: SpanStep[][] = [];
  let left = 0;
  let last: string | undefined;
  // Trace by trace: one that is divided without need is changed by each transaction.
  for (const each of [...Map.groupBy(steps, ({ traceId }) => traceId).values()].flat()) {
    const ofLog = logs.get(each.step.row.id) ?? 0;
    const ofTrace = traces.get(each.traceId) ?? 0;
    const own = ofLog + (each.traceId === last ? 0 : ofTrace);
    if (transactions.length === 0 || (own > 0 && own > left)) {
      transactions.push([]);
      // One that is larger by itself leaves room for spans: each transaction writes it again, and reads what is stored of it.
      left = MAX_PIECE_BYTES - ofLog - (ofTrace > MAX_PIECE_BYTES ? 0 : ofTrace);
    } else left -= own;
    last = each.traceId;
    transactions.at(-1)!.push(each);
  }
  return transactions;
}

/** The lengths of those logs that are stored; `rows` reads them, such as within a transaction. */
export async function bytesOfLogs(
  { database, access }: Context,
  ids: string[],
  rows: <Row>(query: Compilable<Row>) => Promise<Row[]> = database.rows,
): Promise<Map<string, number>> {
  const lengths = database.read
    .selectFrom("Log")
    .select(({ ref }) => ["id as id", bytesOfLog(ref).as("bytes")])
    .where("workspace", "=", database.search.unestimated(access!.workspaceId))
    .where("id", "in", ids);
  return new Map((await rows(lengths)).map(({ id, bytes }) => [id, bytes]));
}

/** The same of traces. */
async function bytesOfTraces({ database, access }: Context, ids: string[]): Promise<Map<string, number>> {
  const lengths = database.read
    .selectFrom("Trace")
    .select(({ ref }) => ["id as id", bytesOfTrace(ref).as("bytes")])
    .where("workspace", "=", access!.workspaceId)
    .where("id", "in", ids);
  return new Map((await database.rows(lengths)).map(({ id, bytes }) => [id, bytes]));
}
