import type { Context } from "../../context.ts";
import type { Log } from "../../logs/entities.ts";
import { type LogFilter, logFilter } from "../../logs/filter.inputs.ts";
import { type Found, keyOf, logs } from "../../logs/listing.resolvers.ts";
import { printableLines } from "../../printable.ts";
import { totalInput, totalOutput } from "../../usage/tokenParts.ts";
import { checkOptions } from "../options.ts";
import { writeOut } from "../output.ts";
import { readUpTo } from "../pages.ts";
import { formatCost, formatCount, formatMs, formatTime, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { warn } from "../workspace.ts";
import { readWhole } from "./showLog.ts";

export type MetadataMatch = NonNullable<LogFilter["metadata"]>[number];

export interface ListLogsOptions {
  since?: Date;
  until?: Date;
  prompt?: string;
  version?: string;
  tag?: string;
  user?: string;
  organization?: string;
  search?: string;
  minCost?: number;
  maxCost?: number;
  minLatency?: number;
  maxLatency?: number;
  metadata?: MetadataMatch[];
  limit: number;
  json?: true;
}

const optionNames = {
  slug: "--prompt",
  userId: "--user",
  organizationId: "--organization",
  to: "--until",
  text: "--search",
};

/** Prints the logs that match the options, those that began last first. */
export async function listLogs(
  context: Context,
  { limit, json, ...options }: ListLogsOptions,
): Promise<void> {
  const filter = checkOptions(logFilter, filterOf(options), optionNames);
  const { entries: found, isMore } = await readUpTo<Found<Log>>(limit, ({ limit, after }) =>
    logs(context, { filter, limit, after: after && keyOf(after.place) }),
  );
  const entries = found.flatMap(({ entity }) => entity ?? []);
  if (json) await writeOut(undefined, toJson(context, entries));
  else if (entries.length === 0) warn("There is no such log.");
  else await printLines(toTable(columns, entries));
  if (isMore) warn(`There are more than ${limit}. See them with --limit.`);
}

function filterOf(options: Omit<ListLogsOptions, "limit">) {
  const { since, until, prompt, user, organization, search, minLatency, maxLatency, ...same } = options;
  return {
    ...same,
    from: since?.toISOString(),
    to: until?.toISOString(),
    slug: prompt,
    userId: user,
    organizationId: organization,
    text: search,
    minLatencyMs: minLatency,
    maxLatencyMs: maxLatency,
  };
}

/** An array, written log by log, as logs may be long. */
async function* toJson(context: Context, entries: Log[]): AsyncGenerator<string> {
  for (const [n, log] of entries.entries()) {
    const text = printableLines(JSON.stringify(await readWhole(context, log), null, 2));
    yield `${n === 0 ? "[" : ","}\n${text.replaceAll(/^/gm, "  ")}`;
  }
  yield entries.length === 0 ? "[]\n" : "\n]\n";
}

const columns: Column<Log>[] = [
  { title: "STARTED", cell: ({ startTime }) => formatTime(startTime) },
  { title: "PROMPT", cell: ({ promptSlug }) => promptSlug },
  { title: "VERSION", cell: ({ version }) => version },
  { title: "MODEL", cell: ({ model }) => model },
  { title: "IN", cell: (log) => formatCount(totalInput(log)), align: "right" },
  { title: "OUT", cell: (log) => formatCount(totalOutput(log)), align: "right" },
  { title: "COST", cell: ({ cost }) => formatCost(cost), align: "right" },
  { title: "LATENCY", cell: ({ latencyMs }) => formatMs(latencyMs), align: "right" },
  { title: "ID", cell: ({ id }) => id, isWhole: true },
];
