import { getHeapSpaceStatistics } from "node:v8";
import { expect, test } from "vitest";
import { createRoster, type Entry } from "../src/roster.ts";

test("a roster lists what came and has not gone, whatever the order, and what goes twice takes nobody else along", () => {
  const roster = createRoster<number>();
  const entries = Array.from({ length: 10 }, (_, n) => roster.add(n));
  for (const gone of [0, 9, 4, 4, 0]) roster.remove(entries[gone]!);
  roster.add(10);
  expect(roster.all().sort((a, b) => a - b)).toEqual([1, 2, 3, 5, 6, 7, 8, 10]);
  expect(roster.size()).toBe(8);
  expect(roster.count((value) => value > 5)).toBe(4);
});

const AT_ONCE = 64;
const MANY = 60_000;

/** How much lands among old objects when many come, of which some are there at the same time. */
function oldBytesAfter(come: () => () => void): number {
  const oldBytes = () =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")!.space_used_size;
  const going: (() => void)[] = [];
  const before = oldBytes();
  let most = 0;
  for (let n = 0; n < MANY; n++) {
    going.push(come());
    if (going.length > AT_ONCE) going.shift()!();
    if (n % 1_000 === 0) most = Math.max(most, oldBytes() - before);
  }
  return most;
}

const make = () => ({ body: Array.from({ length: 100 }, Math.random) });

test("what has gone from a roster does not wait for the collection of old objects, as with a Set it does", () => {
  const roster = createRoster<object>();
  const set = new Set<object>();
  const inRoster = oldBytesAfter(() => {
    const entry: Entry<object> = roster.add(make());
    return () => roster.remove(entry);
  });
  const inSet = oldBytesAfter(() => {
    const value = make();
    set.add(value);
    return () => set.delete(value);
  });
  expect(inSet).toBeGreaterThan(10_000_000);
  expect(inRoster).toBeLessThan(inSet / 2);
});
