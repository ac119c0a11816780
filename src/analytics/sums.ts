const counted = ["logs", "unpricedLogs", "inputTokens", "outputTokens", "cost"] as const;

/** What calls took together; what is unknown of one adds nothing. The cost is in US dollars. */
export type Sums = Record<(typeof counted)[number], number>;

export const noSums: Sums = { logs: 0, unpricedLogs: 0, inputTokens: 0, outputTokens: 0, cost: 0 };

export function addSums(sums: Sums, more: { [Name in keyof Sums]?: Sums[Name] | null }): Sums {
  const added = counted.map((name) => [name, sums[name] + Number(more[name] ?? 0)]);
  return Object.fromEntries(added) as Sums;
}

/** How many calls took how many milliseconds. */
export type Latencies = Map<number, number>;

/** By nearest rank: of each percentage the least value that so many percent do not exceed; null where there is none. */
export function percentiles(counts: Latencies, percentages: number[]): (number | null)[] {
  const sorted = Float64Array.from(counts.keys()).sort(); // without a comparison of ours: many times faster
  const total = sorted.reduce((sum, value) => sum + counts.get(value)!, 0);
  return percentages.map((percentage) => {
    const rank = Math.ceil((percentage * total) / 100);
    let passed = 0;
    for (const value of sorted) {
      passed += counts.get(value)!;
      if (passed >= rank) return value;
    }
    return null;
  });
}

/** Those of many groups that have the most logs, the most first, without putting all of them in order. */
export function largest<Group extends [key: string, sums: Sums]>(groups: Group[], most: number): Group[] {
  const counts = Float64Array.from(groups, ([, { logs }]) => logs).sort();
  const least = counts[Math.max(0, counts.length - most)] ?? 0;
  return groups
    .filter(([, { logs }]) => logs >= least)
    .toSorted(([aKey, a], [bKey, b]) => b.logs - a.logs || (aKey < bKey ? -1 : 1))
    .slice(0, most);
}
