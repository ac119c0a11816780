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

/** Entries between two pauses, which take a millisecond or two. */
const AT_ONCE = 10_000;
/** V8 finds numbers in a Map by a hash without a seed: among 10,000 that collide, a look-up takes 10 microseconds and more. */
const LOOK_UPS_AT_ONCE = 100;

/**
 * Percentiles by nearest rank: for each of the ascending percentages the least value that so many percent do not exceed; null
 * without values. Yields where it may pause: there may be millions of latencies.
 */
export function* percentiles(counts: Latencies, percentages: number[]): Generator<void, (number | null)[]> {
  const values = new Float64Array(counts.size);
  let total = 0;
  let at = 0;
  for (const [value, count] of counts) {
    values[at++] = value;
    total += count;
    if (at % AT_ONCE === 0) yield;
  }
  const ranks = percentages.map((percentage) => Math.ceil((percentage * total) / 100));
  const found: number[] = [];
  let count = 0;
  at = 0;
  for (const value of yield* inOrder(values)) {
    count += counts.get(value)!;
    while (found.length < ranks.length && count >= ranks[found.length]!) found.push(value);
    if (found.length === ranks.length) break;
    if (++at % LOOK_UPS_AT_ONCE === 0) yield;
  }
  return ranks.map((_, n) => found[n] ?? null);
}

/** Sorts values as a merge sort does, since to sort a million at once takes 140 ms. */
function* inOrder(values: Float64Array): Generator<void, Float64Array> {
  let parts: Float64Array[] = [];
  for (let from = 0; from < values.length; from += AT_ONCE) {
    parts.push(values.subarray(from, from + AT_ONCE).sort()); // without a comparator, which is many times slower
    yield;
  }
  while (parts.length > 1) {
    const merged: Float64Array[] = [];
    for (let at = 0; at < parts.length; at += 2)
      merged.push(at + 1 < parts.length ? yield* merge(parts[at]!, parts[at + 1]!) : parts[at]!);
    parts = merged;
  }
  return parts[0] ?? values;
}

function* merge(a: Float64Array, b: Float64Array): Generator<void, Float64Array> {
  const merged = new Float64Array(a.length + b.length);
  let [atA, atB] = [0, 0];
  for (let at = 0; at < merged.length; at++) {
    const isOfA = atB === b.length || (atA < a.length && a[atA]! < b[atB]!);
    merged[at] = isOfA ? a[atA++]! : b[atB++]!;
    if (at % AT_ONCE === 0) yield;
  }
  return merged;
}

/** Groups that are kept before all but the largest are dropped, beyond those: as few take no time to sort. */
const KEPT = 1_000;

/**
 * The groups with the most logs in descending order, those after a group. Keeps few at a time, and yields where it may pause:
 * sorting 400,000 users with a log each takes 400 ms.
 */
export function* largest<Group extends [key: string, sums: Sums]>(
  groups: Iterable<Group>,
  limit: number,
  after?: { logs: number; key: string },
): Generator<void, Group[]> {
  let top: Group[] = [];
  let least: Group | undefined; // any after it are too small
  const keepLargest = () => {
    top = top.toSorted(([aKey, a], [bKey, b]) => b.logs - a.logs || (aKey < bKey ? -1 : 1)).slice(0, limit);
    if (top.length === limit) least = top.at(-1);
  };
  const isAfter = (group: Group, key: string, logs: number) =>
    group[1].logs < logs || (group[1].logs === logs && group[0] > key);
  let seen = 0;
  for (const group of groups) {
    if (++seen % AT_ONCE === 0) yield;
    if (after && !isAfter(group, after.key, after.logs)) continue;
    if (least && isAfter(group, least[0], least[1].logs)) continue;
    if (top.push(group) < limit + KEPT) continue;
    keepLargest();
    yield;
  }
  keepLargest();
  return top;
}
