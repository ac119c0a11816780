import type { Context } from "../context.ts";
import type { Page } from "../database/pages.ts";
import { createPauses, runWithPauses } from "../database/pauses.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { type Condition, conditionsOf } from "../logs/filter.resolvers.ts";
import { logsIn, startOf } from "../logs/walk.resolvers.ts";
import { tokenParts, totalInput, totalOutput } from "../usage/tokenParts.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Day } from "./days.ts";
import {
  aliasOf,
  type Column,
  GROUP_BYTES,
  groupIn,
  keyOf,
  type Logs,
  partsOf,
  sumRows,
  unionAll,
} from "./groups.resolvers.ts";
import type { UsageInput } from "./inputs.ts";
import { addSums, type Latencies, largest, noSums, percentiles, type Sums } from "./sums.ts";

/**
 * What the calls of one group took together; a latency is null when none was reported. The tokens of the input include those
 * of caches, and the tokens of the output those of reasoning.
 */
export interface Usage extends Sums {
  /** Its sort key: the number of logs, then what the group has in common. */
  sortKey: string;
  /** The day, the slug, the version, the name of the model or the id; null for calls that have none. */
  key: string | null;
  promptSlug: string | null;
  p50LatencyMs: number | null;
  p95LatencyMs: number | null;
  p99LatencyMs: number | null;
}

/**
 * Sums up the calls of a period by group: the groups with the most logs first, or the days in their order. Reads only an
 * index by time, in stretches between which other requests run: once for the sums, and again for the latencies of the
 * groups that it returns.
 */
export async function usage(context: Context, input: UsagePage): Promise<Usage[]> {
  const workspaceId = authorize(context, "read");
  if (input.groupBy !== "DAY") return usageOf(context, workspaceId, input);
  const { daysOf } = await import("./days.ts"); // loads a large library, which few need
  await context.database.turn(workspaceId); // the days of three years take 13 ms, and an operation may ask 30 times
  const { after, limit } = input;
  const days = daysOf(input).filter(({ day }) => after === undefined || day > groupIn(after).key);
  return usageByDay(context, workspaceId, { ...input, days: days.slice(0, limit) });
}

type UsagePage = Pick<UsageInput, "from" | "to" | "groupBy" | "timeZone" | "slug" | "filter"> & Page;

/** Days that one statement checks for logs: summing up an empty day would take two. */
const DAYS_AT_ONCE = 16;

async function usageByDay(
  context: Context,
  workspaceId: string,
  { days, ...input }: UsagePage & { days: Day[] },
): Promise<Usage[]> {
  const usages: Usage[] = [];
  for (let at = 0; at < days.length; at += DAYS_AT_ONCE) {
    const some = days.slice(at, at + DAYS_AT_ONCE);
    const range = { before: startOf(context, some.at(-1)!.to), downTo: startOf(context, some[0]!.from) };
    const logs = logsIn(context, { workspaceId, by: {} }, range).select("id as id").limit(1);
    const isEmpty = (await context.database.rows(logs)).length === 0;
    for (const { day, from, to } of some) {
      const [sums] = isEmpty
        ? [NOTHING]
        : await usageOf(context, workspaceId, { ...input, after: undefined, limit: 1, from, to });
      usages.push({ ...sums!, key: day, sortKey: `${sums!.logs} ${day}` });
    }
  }
  return usages;
}

const groupColumns: Record<NonNullable<UsageInput["groupBy"]>, Column[]> = {
  DAY: [],
  PROMPT: ["promptSlug"],
  VERSION: ["promptSlug", "version"],
  MODEL: ["model"],
  USER: ["userId"],
  ORGANIZATION: ["organizationId"],
};

/** 32 MB are then four million different latencies of the groups of the answer, in five times as much memory. */
const LATENCY_BYTES = 8;

async function usageOf(
  context: Context,
  workspaceId: string,
  { from, to, groupBy, limit, after, slug, filter }: UsagePage,
): Promise<Usage[]> {
  const columns = groupBy ? groupColumns[groupBy] : [];
  const lead = { workspaceId, by: {} };
  const range = { before: startOf(context, to), downTo: startOf(context, from) };
  const conditions: Condition[] = [
    ({ eb }) => eb("costSource", "<>", "NONE"),
    // Not along the index by prompt, which lacks the columns to sum up.
    ...[slug == null ? {} : { slug: [slug] }, filter ?? {}].flatMap((one) =>
      conditionsOf(context, one, lead),
    ),
  ];
  const groups = new Map<string, Sums>(columns.length === 0 ? [[keyOf({}, columns), noSums]] : []);
  const pause = createPauses(context, workspaceId);
  for await (const logs of partsOf(context, lead, range, conditions)) {
    const statement = unionAll(logs.map((part) => sumsIn(part, columns)));
    for (const row of await sumRows(context, { workspaceId, filter }, statement)) {
      if (pause.isDue()) await pause.take();
      const key = keyOf(row, columns);
      if (!groups.has(key)) spendAnswerBytes(context, key.length + GROUP_BYTES);
      groups.set(key, addSums(groups.get(key) ?? noSums, row));
    }
  }
  const place = after === undefined ? undefined : groupIn(after);
  const top = await runWithPauses(context, workspaceId, largest(groups, limit, place));
  const latencies = new Map<string, Latencies>(top.map(([key]) => [key, new Map()]));
  const isEmpty = top.every(([, { logs }]) => logs === 0); // spares days without calls the second read
  if (isEmpty) return top.map(([key, sums]) => toUsage(key, sums, columns));
  for await (const logs of partsOf(context, lead, range, conditions)) {
    const statement = unionAll(logs.map((part) => latenciesIn(part, columns)));
    for (const row of await sumRows(context, { workspaceId, filter }, statement)) {
      if (pause.isDue()) await pause.take();
      const counts = latencies.get(keyOf(row, columns));
      if (counts && !counts.has(row.latencyMs!)) spendAnswerBytes(context, LATENCY_BYTES);
      counts?.set(row.latencyMs!, (counts.get(row.latencyMs!) ?? 0) + Number(row.logs));
    }
  }
  return runWithPauses(context, workspaceId, toUsages(top, latencies, columns));
}

function sumsIn(logs: Logs, columns: Column[]) {
  return logs
    .select(({ fn }) => [
      ...columns.map(aliasOf),
      fn.countAll<number>().as("logs"),
      fn.countAll<number>().filterWhere("costSource", "=", "UNPRICED").as("unpricedLogs"),
      fn.countAll<number>().filterWhere("status", "=", "error").as("failedLogs"),
      ...tokenParts.map((part) => fn.sum<number | null>(part).as(part)),
      fn.sum<number | null>("cost").as("cost"),
    ])
    .$if(columns.length > 0, (query) => query.groupBy(columns));
}

function latenciesIn(logs: Logs, columns: Column[]) {
  return logs
    .select(({ fn }) => [...columns.map(aliasOf), "latencyMs as latencyMs", fn.countAll<number>().as("logs")])
    .where("latencyMs", "is not", null)
    .groupBy([...columns, "latencyMs"]);
}

function* toUsages(
  top: [key: string, sums: Sums][],
  latencies: Map<string, Latencies>,
  columns: Column[],
): Generator<void, Usage[]> {
  const usages: Usage[] = [];
  for (const [key, sums] of top) {
    usages.push(toUsage(key, sums, columns, yield* percentiles(latencies.get(key)!, [50, 95, 99])));
    yield;
  }
  return usages;
}

const NOTHING = toUsage("[]", noSums, []);

function toUsage(
  groupKey: string,
  sums: Sums,
  columns: Column[],
  [p50LatencyMs, p95LatencyMs, p99LatencyMs]: (number | null)[] = [],
): Usage {
  const values: (string | null)[] = JSON.parse(groupKey);
  return {
    ...sums,
    inputTokens: totalInput(sums)!,
    outputTokens: totalOutput(sums)!,
    sortKey: `${sums.logs} ${groupKey}`,
    key: values.at(-1) ?? null,
    promptSlug: (columns[0] === "promptSlug" && values[0]) || null,
    cost: Number(sums.cost.toPrecision(14)), // without the rounding errors of the sum
    p50LatencyMs: p50LatencyMs ?? null,
    p95LatencyMs: p95LatencyMs ?? null,
    p99LatencyMs: p99LatencyMs ?? null,
  };
}
