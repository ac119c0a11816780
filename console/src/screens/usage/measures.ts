import type { UsageFiguresFragment, UsageGroup } from "../../gql/graphql.ts";
import { formatCompact, formatCost, formatCount, formatLatency } from "../../parts/format.ts";

export const groups: { value: string; label: string; group: UsageGroup }[] = [
  { value: "day", label: "By day", group: "DAY" },
  { value: "prompt", label: "By prompt", group: "PROMPT" },
  { value: "version", label: "By version", group: "VERSION" },
  { value: "model", label: "By model", group: "MODEL" },
  { value: "user", label: "By user", group: "USER" },
  { value: "organization", label: "By organization", group: "ORGANIZATION" },
];

interface Measure {
  value: string;
  label: string;
  /** Null where it is not known, as no call was timed. */
  of: (usage: UsageFiguresFragment) => number | null;
  format: (value: number | null) => string;
}

export const measures: Measure[] = [
  { value: "cost", label: "Cost", of: ({ cost }) => cost, format: formatCost },
  { value: "calls", label: "Calls", of: ({ logs }) => logs, format: formatCount },
  { value: "errors", label: "Errors", of: ({ failedLogs }) => failedLogs, format: formatCount },
  { value: "tokens", label: "Tokens", of: ({ totalTokens }) => totalTokens, format: formatCompact },
  {
    value: "latency",
    label: "Latency, 95 %",
    of: ({ p95LatencyMs }) => p95LatencyMs ?? null,
    format: formatLatency,
  },
];
