import type { LogFilter, LogStatus } from "../../gql/graphql.ts";
import { isDay } from "../../parts/format.ts";

export interface LogSearch {
  q?: string;
  slug?: string;
  version?: string;
  since?: string;
  /** A day of the reader, such as 2026-01-31. */
  day?: string;
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
  const { q, slug, version, since, day, user, model, minCost, minLatency } = search;
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
    ...(day && daysFrom(day)),
    ...(isNumber(minCost) && { minCost: Number(minCost) }),
    ...(isNumber(minLatency) && { minLatencyMs: Number(minLatency) }),
  };
}

/** From the midnight that begins a day to the one that ends it, in the zone of the reader. */
function daysFrom(day: string): LogFilter {
  if (!isDay(day)) return {};
  const begin = new Date(`${day}T00:00:00`);
  const end = new Date(begin);
  end.setDate(end.getDate() + 1);
  return { from: begin.toISOString(), to: end.toISOString() };
}

const isNumber = (text: string | undefined): text is string =>
  text !== undefined && Number.isFinite(Number(text));
