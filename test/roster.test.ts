import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createRoster } from "../src/roster.ts";

test("a roster lists what came and has not gone, whatever the order, and what goes twice takes nobody else along", () => {
  const roster = createRoster<number>();
  const entries = Array.from({ length: 10 }, (_, n) => roster.add(n));
  for (const gone of [0, 9, 4, 4, 0]) roster.remove(entries[gone]!);
  roster.add(10);
  expect(roster.all().sort((a, b) => a - b)).toEqual([1, 2, 3, 5, 6, 7, 8, 10]);
  expect(roster.size()).toBe(8);
  expect(roster.count((value) => value > 5)).toBe(4);
});

/**
 * How much lands among old objects when many come, of which some are there at the same time. In a program of its own, as
 * what other tests have left behind would age, too.
 */
const PROGRAM = `
import { getHeapSpaceStatistics } from "node:v8";
import { createRoster } from "${new URL("../src/roster.ts", import.meta.url)}";

function oldBytesAfter(come) {
  const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space").space_used_size;
  const going = [];
  const comeAnew = () => going.push(come({ body: Array.from({ length: 100 }, Math.random) }));
  for (let n = 0; n < 64; n++) comeAnew();
  gc(); // and what lists them is old
  const before = oldBytes();
  let most = 0;
  for (let n = 0; n < 60_000; n++) {
    comeAnew();
    going.shift()();
    if (n % 1_000 === 0) most = Math.max(most, oldBytes() - before);
  }
  return most;
}

const roster = createRoster();
const inRoster = oldBytesAfter((value) => {
  const entry = roster.add(value);
  return () => roster.remove(entry);
});
const set = new Set();
const inSet = oldBytesAfter((value) => {
  set.add(value);
  return () => set.delete(value);
});
process.stdout.write(JSON.stringify({ inRoster, inSet }));
`;

test("what has gone from a roster does not wait for the collection of old objects, as with a Set it does", async () => {
  const args = ["--expose-gc", "--input-type=module", "-e", PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { inRoster, inSet } = JSON.parse(stdout);
  expect(inSet).toBeGreaterThan(10_000_000);
  expect(inRoster).toBeLessThan(inSet / 2);
});
