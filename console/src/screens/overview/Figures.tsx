import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { UsageFiguresFragment } from "../../gql/graphql.ts";
import { formatCompact, formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import styles from "./Overview.module.css";

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
      <Figure
        name="Calls"
        value={formatCompact(now.logs)}
        change={changeOf(now.logs, before?.logs, formatCompact)}
      />
      <Figure
        name="Cost"
        value={formatCost(now.cost)}
        change={changeOf(now.cost, before?.cost, formatCost)}
      />
      <Figure
        name="Latency, 50 %"
        value={formatLatency(now.p50LatencyMs)}
        change={changeOf(now.p50LatencyMs, before?.p50LatencyMs, formatLatency)}
      />
      <Figure
        name="Latency, 95 %"
        value={formatLatency(now.p95LatencyMs)}
        change={changeOf(now.p95LatencyMs, before?.p95LatencyMs, formatLatency)}
      />
      <Figure
        name="Tokens"
        value={formatCompact(now.totalTokens)}
        change={changeOf(now.totalTokens, before?.totalTokens, formatCompact)}
      />
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
