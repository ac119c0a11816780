import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { UsageFiguresFragment } from "../../gql/graphql.ts";
import { formatCompact, formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import styles from "./Overview.module.css";

interface Measure {
  name: string;
  of: (usage: UsageFiguresFragment) => number | null | undefined;
  format: (value: number) => string;
}

const measures: Measure[] = [
  { name: "Calls", of: ({ logs }) => logs, format: formatCompact },
  { name: "Errors", of: ({ failedLogs }) => failedLogs, format: formatCount },
  { name: "Cost", of: ({ cost }) => cost, format: formatCost },
  { name: "Latency, 50 %", of: ({ p50LatencyMs }) => p50LatencyMs, format: formatLatency },
  { name: "Latency, 95 %", of: ({ p95LatencyMs }) => p95LatencyMs, format: formatLatency },
  { name: "Tokens", of: ({ totalTokens }) => totalTokens, format: formatCompact },
];

/** The figures of the period, each with how it has changed since the period before. */
export function Figures({
  now,
  before,
}: {
  now: UsageFiguresFragment;
  before: UsageFiguresFragment | undefined;
}) {
  return (
    <dl className={styles.figures}>
      {measures.map(({ name, of, format }) => (
        <Figure
          key={name}
          name={name}
          value={textOf(of(now), format)}
          change={changeOf(of(now), before && of(before), format)}
        />
      ))}
      <Figure
        name="Without a price"
        value={formatCount(now.unpricedLogs)}
        change={now.unpricedLogs > 0 ? <Link to="/prices">Set prices</Link> : "all calls have a cost"}
      />
    </dl>
  );
}

function Figure({ name, value, change }: { name: string; value: string; change: ReactNode }) {
  return (
    <div className={styles.figure}>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span>{change}</span>
      </dd>
    </div>
  );
}

const textOf = (value: number | null | undefined, format: (value: number) => string): string =>
  value == null ? "–" : format(value);

function changeOf(
  now: number | null | undefined,
  before: number | null | undefined,
  format: (value: number) => string,
): string {
  if (now == null || !before) return "nothing to compare with";
  const percent = Math.round((100 * (now - before)) / before);
  const sign = percent > 0 ? "+" : percent < 0 ? "−" : "±";
  return `before ${format(before)}, ${sign}${formatCount(Math.abs(percent))} %`;
}
