import type { LogFilter, LogStatus } from "../../gql/graphql.ts";
import { rangeOf } from "../../parts/period.ts";

export interface LogSearch {
  q?: string;
  slug?: string;
  version?: string;
  since?: string;
  /** A day of the reader, such as 2026-01-31. */
  day?: string;
  /** The last day of a period that begins with `day`. */
  to?: string;
  user?: string;
  model?: string;
  /** `error` or `ok`. */
  status?: string;
  minCost?: string;
  minLatency?: string;
}

const HOUR_MS = 3_600_000;
const periods = new Map([
  ["hour", HOUR_MS],
  ["day", 24 * HOUR_MS],
  ["week", 168 * HOUR_MS],
  ["month", 720 * HOUR_MS],
]);

const statuses = new Map<string, LogStatus>([
  ["error", "ERROR"],
  ["ok", "OK"],
]);

export const periodChoices = [
  { value: "", label: "All time" },
  { value: "hour", label: "Last hour" },
  { value: "day", label: "Last 24 hours" },
  { value: "week", label: "Last 7 days" },
  { value: "month", label: "Last 30 days" },
];

/** The filter that an address stands for. A period begins at a full minute, so that the same filter is cached. */
export function filterOf(search: LogSearch, nowMs: number): LogFilter {
  const { q, slug, version, since, day, to, user, model, minCost, minLatency } = search;
  const status = statuses.get(search.status ?? "");
  const periodMs = periods.get(since ?? "");
  const minute = Math.floor(nowMs / 60_000) * 60_000;
  return {
    ...(q && { text: q }),
    ...(slug && { slug: [slug] }),
    ...(version && { version: [version] }),
    ...(user && { userId: [user] }),
    ...(model && { model: [model] }),
    ...(status && { status: [status] }),
    ...(periodMs && { from: new Date(minute - periodMs).toISOString() }),
    ...rangeOf(day, to),
    ...(isNumber(minCost) && { minCost: Number(minCost) }),
    ...(isNumber(minLatency) && { minLatencyMs: Number(minLatency) }),
  };
}

const isNumber = (text: string | undefined): text is string =>
  text !== undefined && Number.isFinite(Number(text));
