import { tokenParts } from "../usage/tokenParts.ts";

const sumNames = ["logs", "unpricedLogs", "failedLogs", "cost", ...tokenParts] as const;

/** Sums over calls, tokens in disjoint parts; unknown values count as 0. The cost is in US dollars. */
export type Sums = Record<(typeof sumNames)[number], number>;

export const noSums: Sums = {
  ...{ logs: 0, unpricedLogs: 0, failedLogs: 0, cost: 0, inputTokens: 0, outputTokens: 0 },
  ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
};

export function addSums(sums: Sums, more: { [Name in keyof Sums]?: Sums[Name] | null }): Sums {
  const added = sumNames.map((name) => [name, sums[name] + Number(more[name] ?? 0)]);
  return Object.fromEntries(added) as Sums;
}

/** The number of calls by their latency in milliseconds. */
export type Latencies = Map<number, number>;

/** Percentiles by nearest rank: for each percentage the least value that so many percent do not exceed; null without values. */
export function percentiles(counts: Latencies, percentages: number[]): (number | null)[] {
  const sorted = Float64Array.from(counts.keys()).sort(); // numeric order without a comparator, which is many times slower
  const total = sorted.reduce((sum, value) => sum + counts.get(value)!, 0);
  return percentages.map((percentage) => {
    const rank = Math.ceil((percentage * total) / 100);
    let count = 0;
    for (const value of sorted) {
      count += counts.get(value)!;
      if (count >= rank) return value;
    }
    return null;
  });
}

/** The groups with the most logs in descending order, those after a group, found without sorting all groups. */
export function largest<Group extends [key: string, sums: Sums]>(
  groups: Group[],
  limit: number,
  after?: { logs: number; key: string },
): Group[] {
  const candidates = groups.filter(
    ([key, { logs }]) => !after || logs < after.logs || (logs === after.logs && key > after.key),
  );
  const counts = Float64Array.from(candidates, ([, { logs }]) => logs).sort();
  const least = counts[Math.max(0, counts.length - limit)] ?? 0;
  return candidates
    .filter(([, { logs }]) => logs >= least)
    .toSorted(([aKey, a], [bKey, b]) => b.logs - a.logs || (aKey < bKey ? -1 : 1))
    .slice(0, limit);
}
