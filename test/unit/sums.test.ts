import { expect, test } from "vitest";
import { largest, noSums, percentiles, type Sums } from "../../src/analytics/sums.ts";

/** What work returns, and how often it lets others run. */
function run<Result>(work: Generator<unknown, Result>): { result: Result; pauses: number } {
  for (let pauses = 0; ; pauses++) {
    const { done, value } = work.next();
    if (done) return { result: value, pauses };
  }
}

test.each([
  [1, 0],
  [2, 0],
  [9_999, 90], // after each 100 look-ups
  [10_000, 90],
  [10_001, 90],
  [100_003, 900],
])(
  "percentiles of %i different latencies are by nearest rank, and found with %i pauses or more",
  (size, leastPauses) => {
    const counts = new Map(Array.from({ length: size }, (_, n) => [(n * 7_919) % 100_003, 1 + (n % 3)]));
    const all = [...counts]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([value, count]) => Array(count).fill(value));
    const { result, pauses } = run(percentiles(counts, [50, 95, 99]));
    expect(result).toEqual([50, 95, 99].map((part) => all[Math.ceil((part * all.length) / 100) - 1]));
    expect(pauses).toBeGreaterThanOrEqual(leastPauses);
  },
);

test("there are no percentiles of nothing", () => {
  expect(run(percentiles(new Map(), [50, 95])).result).toEqual([null, null]);
});

test.each([
  ["ascending", (n: number) => n],
  ["descending", (n: number) => 99_999 - n],
  ["mixed", (n: number) => (n * 7_919) % 100_000],
])("the largest of 100,000 groups, most of them equal, are found with pauses: %s keys", (_, placeOf) => {
  const key = (n: number) => `${100_000 + n}`;
  const groups = new Map<string, Sums>(
    Array.from({ length: 100_000 }, (_, n) => {
      const at = placeOf(n);
      return [key(at), { ...noSums, logs: at === 70_000 ? 3 : at % 1_000 === 0 ? 2 : 1 }];
    }),
  );
  const keysOf = (limit: number, after?: { logs: number; key: string }) => {
    const { result, pauses } = run(largest(groups, limit, after));
    expect(pauses).toBeGreaterThanOrEqual(10);
    return result.map(([key]) => Number(key) - 100_000);
  };
  const twos = Array.from({ length: 100 }, (_, n) => n * 1_000).filter((n) => n !== 70_000);
  expect(keysOf(102)).toEqual([70_000, ...twos, 1, 2]);
  expect(keysOf(2)).toEqual([70_000, 0]);
  expect(keysOf(3, { logs: 2, key: key(98_000) })).toEqual([99_000, 1, 2]);
  expect(keysOf(2, { logs: 1, key: key(999) })).toEqual([1_001, 1_002]);
  expect(keysOf(2, { logs: 1, key: key(99_998) })).toEqual([99_999]);
});
