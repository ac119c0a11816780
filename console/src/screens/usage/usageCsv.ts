import type { UsageFiguresFragment } from "../../gql/graphql.ts";
import { csvLine, withoutFormula } from "../../parts/csv.ts";

const figures = [
  ...(["logs", "unpricedLogs", "failedLogs", "cost", "inputTokens", "outputTokens", "totalTokens"] as const),
  ...(["p50LatencyMs", "p95LatencyMs", "p99LatencyMs"] as const),
];

/** The table as CSV, with all digits of its figures. */
export function usageCsv(by: string, rows: readonly UsageFiguresFragment[]): Blob {
  const lines = rows.map((row) => {
    const names = [row.key, ...(by === "version" ? [row.promptSlug] : [])];
    return csvLine([
      ...names.map((name) => (name == null ? null : withoutFormula(name))),
      ...figures.map((figure) => row[figure]?.toString() ?? null),
    ]);
  });
  return new Blob([csvLine([by, ...(by === "version" ? ["prompt"] : []), ...figures]), ...lines]);
}
