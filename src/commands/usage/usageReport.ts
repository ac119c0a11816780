import { MAX_DAYS, type UsageInput, usageInput } from "../../analytics/inputs.ts";
import { type Usage, usage } from "../../analytics/resolvers.ts";
import type { Context } from "../../context.ts";
import { checkOptions } from "../options.ts";
import { formatCost, formatCount, formatMs, printJson, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { timeBefore } from "../times.ts";

export interface UsageOptions {
  since?: Date;
  until?: Date;
  by: Lowercase<NonNullable<UsageInput["groupBy"]>> | "all";
  prompt?: string;
  timeZone: string;
  limit: number;
  json?: true;
}

const optionNames = { to: "--until", timeZone: "--time-zone", slug: "--prompt" };

/** Prints what the calls of a period took, by group; the table ends with a total. */
export async function reportUsage(
  context: Context,
  { since, until, by, prompt: slug, timeZone, limit, json }: UsageOptions,
): Promise<void> {
  const from = (since ?? timeBefore("7d", "d")!).toISOString();
  const to = (until ?? new Date()).toISOString();
  const groupBy = by === "all" ? null : by.toUpperCase();
  const input = checkOptions(usageInput, { from, to, groupBy, timeZone, slug }, optionNames);
  const groups = await usage(context, { ...input, after: undefined, limit: by === "day" ? MAX_DAYS : limit });
  if (json) return printJson(groups.map(toJson));
  const total =
    groupBy === null ? [] : await usage(context, { ...input, after: undefined, groupBy: null, limit: 1 });
  await printLines(toTable(columnsOf(by), [...groups, ...total.map(asTotal)]));
}

function asTotal(sums: Usage): Usage {
  return { ...sums, key: "TOTAL", promptSlug: "TOTAL" };
}

function toJson({ sortKey: _, key, promptSlug, ...sums }: Usage) {
  return { key, promptSlug, ...sums, totalTokens: sums.inputTokens + sums.outputTokens };
}

function columnsOf(by: UsageOptions["by"]): Column<Usage>[] {
  const names: Column<Usage>[] = [
    ...(by === "version" ? [{ title: "PROMPT", cell: ({ promptSlug }: Usage) => promptSlug }] : []),
    ...(by === "all" ? [] : [{ title: by.toUpperCase(), cell: ({ key }: Usage) => key }]),
  ];
  return [...names, ...sumColumns];
}

const sumColumns: Column<Usage>[] = [
  { title: "LOGS", cell: ({ logs }) => formatCount(logs), align: "right" },
  { title: "INPUT TOKENS", cell: ({ inputTokens }) => formatCount(inputTokens), align: "right" },
  { title: "OUTPUT TOKENS", cell: ({ outputTokens }) => formatCount(outputTokens), align: "right" },
  { title: "COST", cell: ({ cost }) => formatCost(cost), align: "right" },
  { title: "UNPRICED", cell: ({ unpricedLogs }) => formatCount(unpricedLogs), align: "right" },
  { title: "P50", cell: ({ p50LatencyMs }) => formatMs(p50LatencyMs), align: "right" },
  { title: "P95", cell: ({ p95LatencyMs }) => formatMs(p95LatencyMs), align: "right" },
  { title: "P99", cell: ({ p99LatencyMs }) => formatMs(p99LatencyMs), align: "right" },
];
