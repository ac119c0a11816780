import type { Context } from "../../context.ts";
import { type Cell, toCell } from "../../formats/cells.ts";
import { toCsv } from "../../formats/csv.ts";
import {
  countLogsOfPeriod,
  type ExportedLog,
  logsOfPeriod,
  type Period,
} from "../../logs/export.resolvers.ts";
import { writeOut } from "../output.ts";
import { showProgress } from "../progress.ts";

export interface ExportLogsOptions extends Period {
  format: "jsonl" | "csv";
  output?: string;
}

/** Writes the logs of a period to a file or to the standard output, the oldest first. */
export async function exportLogs(context: Context, options: ExportLogsOptions): Promise<void> {
  const progress = showProgress(await countLogsOfPeriod(context, options));
  async function* text(): AsyncGenerator<string> {
    let count = 0;
    if (options.format === "csv") yield toCsv([columns.map(([name]) => name)]);
    for await (const logs of logsOfPeriod(context, options)) {
      const piece =
        options.format === "csv" ? csvOf(logs) : logs.map((log) => `${JSON.stringify(log)}\n`).join("");
      yield piece;
      count += logs.length;
      progress.report(count, count);
    }
  }
  try {
    await writeOut(options.output, text());
  } finally {
    progress.stop();
  }
}

/**
 * Puts an apostrophe before cells that begin like a formula: spreadsheets would run text that a user has typed. JSON Lines
 * are not changed.
 */
function csvOf(logs: ExportedLog[]): string {
  return toCsv(
    logs.map((log) => columns.map(([, cell]) => cell(log))),
    ",",
    { escape_formulas: true },
  );
}

const any = (value: unknown): Cell => (value === null ? null : toCell(value, "text"));
const json = (value: unknown): Cell => (value === null ? null : JSON.stringify(value));
const plain = (value: string | number | null): Cell => (value === null ? null : String(value));
const time = (value: Date | null): Cell => value?.toISOString() ?? null;

const columns: [string, (log: ExportedLog) => Cell][] = [
  ["id", ({ id }) => id],
  ["traceId", ({ traceId }) => traceId],
  ["traceName", ({ traceName }) => traceName],
  ["type", ({ type }) => type],
  ["promptSlug", ({ promptSlug }) => promptSlug],
  ["version", ({ version }) => version],
  ["tag", ({ tag }) => tag],
  ["model", ({ model }) => model],
  ["input", ({ input }) => any(input)],
  ["output", ({ output }) => any(output)],
  ["idealOutput", ({ idealOutput }) => any(idealOutput)],
  ["variables", ({ variables }) => json(variables)],
  ["metadata", ({ metadata }) => json(metadata)],
  ["startTime", ({ startTime }) => time(startTime)],
  ["endTime", ({ endTime }) => time(endTime)],
  ["latencyMs", ({ latencyMs }) => plain(latencyMs)],
  ["inputTokens", ({ inputTokens }) => plain(inputTokens)],
  ["outputTokens", ({ outputTokens }) => plain(outputTokens)],
  ["cost", ({ cost }) => plain(cost)],
  ["costSource", ({ costSource }) => costSource],
  ["userId", ({ user }) => user?.id ?? null],
  ["userName", ({ user }) => user?.name ?? null],
  ["organizationId", ({ organization }) => organization?.id ?? null],
  ["organizationName", ({ organization }) => organization?.name ?? null],
  ["createdAt", ({ createdAt }) => time(createdAt)],
];
