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
  const sorted = [...counts].toSorted(([a], [b]) => a - b);
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  return percentages.map((percentage) => {
    const rank = Math.ceil((percentage * total) / 100);
    let passed = 0;
    for (const [value, count] of sorted) {
      passed += count;
      if (passed >= rank) return value;
    }
    return null;
  });
}
