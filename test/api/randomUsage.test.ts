import { afterAll, expect, test } from "vitest";
import {
  addRandomLogs,
  below,
  changes,
  DAY_MS,
  ids,
  maybe,
  oneOf,
  type Row,
  random,
  slugs,
  some,
  versions,
} from "../support/randomLogs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const rows = await addRandomLogs(server);

const USAGE = `query($from: DateTime!, $to: DateTime!, $by: UsageGroup, $zone: String, $slug: String, $filter: UsageFilter, $first: Int) {
  usage(from: $from, to: $to, groupBy: $by, timeZone: $zone, slug: $slug, filter: $filter, first: $first) { nodes { key promptSlug logs
  unpricedLogs failedLogs inputTokens outputTokens totalTokens cost p50LatencyMs p95LatencyMs p99LatencyMs } } }`;

const sum = (numbers: (number | null)[]) =>
  numbers.reduce<number>((total, number) => total + (number ?? 0), 0);

function toUsage(key: string | null, promptSlug: string | null, group: Row[]) {
  const latencies = group.flatMap(({ latencyMs }) => latencyMs ?? []).toSorted((a, b) => a - b);
  const rank = (percentage: number) =>
    latencies[Math.ceil((latencies.length * percentage) / 100) - 1] ?? null;
  const [inputTokens, outputTokens] = [
    sum(group.map((row) => row.inputTokens)),
    sum(group.map((row) => row.outputTokens)),
  ];
  return {
    key,
    promptSlug,
    logs: group.length,
    unpricedLogs: group.filter(({ cost }) => cost === null).length,
    failedLogs: group.filter(({ status }) => status === "error").length,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cost: Number(sum(group.map(({ cost }) => cost)).toFixed(3)),
    p50LatencyMs: rank(50),
    p95LatencyMs: rank(95),
    p99LatencyMs: rank(99),
  };
}

const groupings: Record<string, (row: Row) => [string | null, string | null]> = {
  PROMPT: ({ promptSlug }) => [promptSlug, promptSlug],
  VERSION: ({ promptSlug, version }) => [version, promptSlug],
  MODEL: ({ model }) => [model, null],
  USER: ({ userId }) => [userId, null],
  ORGANIZATION: ({ organizationId }) => [organizationId, null],
};

type Condition = [filter: object, isWanted: (row: Row) => boolean];

const columns = [
  ["slug", "promptSlug", slugs],
  ["version", "version", versions],
  ["model", "model", ["gpt-4o", "o3"]],
  ["userId", "userId", ids],
  ["organizationId", "organizationId", ids],
] as const;

/** A filter of usage, and what it means. */
function conditions(depth = 0): Condition {
  const shape = depth === 3 ? "flat" : oneOf(["flat", "flat", "and", "or", "not"]);
  if (shape === "flat") {
    const [name, column, among] = oneOf(columns);
    const wanted: (string | null)[] = some(below(3), () => oneOf(among));
    return [{ [name]: wanted }, (row) => wanted.includes(row[column])];
  }
  if (shape === "not") {
    const [not, isWanted] = conditions(depth + 1);
    return [{ not, status: "ERROR" }, (row) => !isWanted(row) && row.status === "error"];
  }
  const parts = some(below(3), () => conditions(depth + 1));
  const holds = ([, isWanted]: Condition, row: Row) => isWanted(row);
  return [
    { [shape]: parts.map(([filter]) => filter) },
    (row) =>
      shape === "and" ? parts.every((part) => holds(part, row)) : parts.some((part) => holds(part, row)),
  ];
}

test("over whatever time, usage is what adding up every single log gives, by day of every zone and by all else", async () => {
  for (let run = 0; run < 150; run++) {
    const [zone, change] = oneOf(changes);
    const at = () => new Date(Date.parse(change) + Math.round((random() - 0.5) * oneOf([1, 6]) * DAY_MS));
    const [from, to] = oneOf([
      [at(), at()],
      [oneOf(rows).startTime, oneOf(rows).startTime],
    ]).toSorted((a, b) => Number(a) - Number(b)) as [Date, Date];
    const slug = maybe(0.3, () => oneOf(slugs));
    const [filter, isWanted] = maybe(0.4, () => conditions()) ?? [null, () => true];
    const inTime = rows.filter(
      (row) =>
        row.startTime >= from &&
        row.startTime < to &&
        (slug === null || row.promptSlug === slug) &&
        isWanted(row),
    );
    const by =
      Number(to) - Number(from) < 30 * DAY_MS
        ? oneOf(["DAY", "DAY", null, ...Object.keys(groupings)])
        : oneOf([null, ...Object.keys(groupings)]);
    const asked = { from, to, by, zone, slug, filter };
    const found = await server.run(USAGE, { ...asked, first: 100 });
    expect({ ...asked, found }).toEqual({ ...asked, found: expectedUsage(by, { from, to, zone }, inTime) });
  }
}, 120_000);

function expectedUsage(
  by: string | null,
  { from, to, zone }: { from: Date; to: Date; zone: string },
  inTime: Row[],
) {
  if (by === null) return [toUsage(null, null, inTime)];
  if (by === "DAY") {
    const format = new Intl.DateTimeFormat("en-CA", { timeZone: zone });
    const steps = Array.from(
      { length: Math.ceil((Number(to) - Number(from)) / 900_000) },
      (_, n) => Number(from) + n * 900_000,
    );
    const days = new Set(
      [...steps, ...(to > from ? [Number(to) - 1] : [])].map((time) => format.format(time)),
    );
    return [...days].map((day) =>
      toUsage(
        day,
        null,
        inTime.filter(({ startTime }) => format.format(startTime) === day),
      ),
    );
  }
  const groups = Map.groupBy(inTime, (row) => JSON.stringify(groupings[by]!(row)));
  return [...groups]
    .map(
      ([key, group]) =>
        [key, toUsage(...(JSON.parse(key) as [string | null, string | null]), group)] as const,
    )
    .toSorted(([aKey, a], [bKey, b]) => b.logs - a.logs || (order(by, aKey) < order(by, bKey) ? -1 : 1))
    .map(([, usage]) => usage);
}

/** Groups of one size come in the order of their names, those of versions by prompt first. */
const order = (by: string, key: string) =>
  by === "VERSION" ? JSON.stringify(JSON.parse(key).toReversed()) : key;
