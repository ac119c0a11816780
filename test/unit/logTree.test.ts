import fc from "fast-check";
import { expect, test } from "vitest";
import { type Rollup, rollupAt, type SummedLog, sumUp } from "../../src/logs/rollups.ts";
import { growTree, NONE, runToEnd, treeOf } from "../../src/logs/tree.ts";

const log = fc.record({
  externalId: fc.option(fc.integer({ min: 0, max: 40 }).map(String)),
  parentExternalId: fc.option(fc.integer({ min: 0, max: 45 }).map(String)),
  remoteParentId: fc.constant(null),
  startMs: fc.integer({ min: 0, max: 20 }),
  type: fc.constantFrom("generation", "span", "tool", "internal"),
  status: fc.constantFrom("ok", "error", null),
  costSource: fc.constantFrom("REPORTED", "UNPRICED", "NONE"),
  cost: fc.option(fc.constantFrom(0.1, 0.25, 1)),
  inputTokens: fc.option(fc.integer({ min: 0, max: 100 })),
  outputTokens: fc.option(fc.integer({ min: 0, max: 100 })),
  cacheReadTokens: fc.option(fc.integer({ min: 0, max: 100 })),
  cacheWriteTokens: fc.constant(null),
  reasoningTokens: fc.constant(null),
});
const logs: fc.Arbitrary<SummedLog[]> = fc
  .array(log, { maxLength: 60 })
  .map((all) => all.map((one, n) => ({ ...one, id: String(n).padStart(4, "0") })));

interface Placed {
  log: SummedLog;
  parentId: string | null;
  depth: number;
  missingParent: boolean;
  subtree: Rollup;
}

/** A tree as a list of its logs, each with where it stands. */
function placedOf(all: SummedLog[]): Placed[] {
  const tree = treeOf(all);
  const sums = runToEnd(sumUp(tree));
  return tree.logs.map((log, at) => ({
    log,
    parentId: tree.parents[at] === NONE ? null : tree.logs[tree.parents[at]!]!.id,
    depth: tree.depths[at]!,
    missingParent: tree.missingParents[at] === 1,
    subtree: rollupAt(sums, at),
  }));
}

/** The logs below one, found by walking up from every other log. */
function below(placed: Placed[], id: string): Placed[] {
  const parents = new Map(placed.map(({ log, parentId }) => [log.id, parentId]));
  return placed.filter(({ log }) => {
    for (let at: string | null = log.id; at !== null; at = parents.get(at)!) if (at === id) return true;
    return false;
  });
}

test("a subtree sums up a log and each log below it once, whatever names whatever as its parent", () => {
  fc.assert(
    fc.property(logs, (all) => {
      const placed = placedOf(all);
      for (const { log, subtree } of placed) {
        const members = below(placed, log.id).map((one) => one.log);
        const sum = (of: (one: SummedLog) => number | null | undefined) =>
          members.reduce((total, one) => total + (of(one) ?? 0), 0);
        expect(subtree.logs).toBe(members.length);
        expect(subtree.errors).toBe(sum(({ status }) => (status === "error" ? 1 : 0)));
        expect(subtree.inputTokens).toBe(sum(({ inputTokens }) => inputTokens));
        expect(subtree.cacheReadTokens).toBe(sum(({ cacheReadTokens }) => cacheReadTokens));
        expect(subtree.cost).toBeCloseTo(
          sum(({ cost }) => cost),
          10,
        );
      }
    }),
    { numRuns: 500 },
  );
});

test("behind the sums of the logs are those of all of them", () => {
  fc.assert(
    fc.property(logs, (all) => {
      const tree = treeOf(all);
      const total = rollupAt(runToEnd(sumUp(tree)), tree.logs.length);
      expect(total.logs).toBe(tree.logs.length);
      expect(total.outputTokens).toBe(tree.logs.reduce((sum, one) => sum + (one.outputTokens ?? 0), 0));
      const cost = tree.logs.reduce((sum, one) => sum + (one.cost ?? 0), 0);
      expect(total.cost).toBeCloseTo(cost, 10);
    }),
    { numRuns: 500 },
  );
});

test("every visible log stands in the list once, right behind its parent and what is below earlier siblings", () => {
  fc.assert(
    fc.property(logs, (all) => {
      const placed = placedOf(all);
      const visible = all.filter(({ type }) => type !== "internal");
      expect(placed.map(({ log }) => log.id).toSorted()).toEqual(visible.map(({ id }) => id).toSorted());
      const path: string[] = [];
      for (const { log, depth, parentId } of placed) {
        expect(depth).toBeLessThanOrEqual(path.length);
        path.length = depth;
        expect(parentId).toBe(path.at(-1) ?? null);
        path.push(log.id);
      }
    }),
    { numRuns: 500 },
  );
});

test("the tree is the same in whatever order the logs are stored", () => {
  fc.assert(
    fc.property(
      logs.chain((all) =>
        fc.tuple(
          fc.constant(all),
          fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length }),
        ),
      ),
      ([all, shuffled]) => {
        expect(placedOf(shuffled)).toEqual(placedOf(all));
      },
    ),
    { numRuns: 500 },
  );
});

const step = (id: string, parent: string | null, more: Partial<SummedLog> = {}): SummedLog => ({
  ...{ id, externalId: id, parentExternalId: parent, remoteParentId: null, startMs: 0 },
  ...{ type: "span", status: null, costSource: "NONE", cost: null, ...more },
});
const shapeOf = (all: SummedLog[]) =>
  placedOf(all).map(({ log, parentId, depth, missingParent }) => [log.id, parentId, depth, missingParent]);

test("a log whose parent is not stored stands at the top and is marked; one with a remote parent is not", () => {
  expect(shapeOf([step("a", "gone"), step("b", null, { remoteParentId: "elsewhere" })])).toEqual([
    ["a", null, 0, true],
    ["b", null, 0, false],
  ]);
});

test("a remote parent that is stored, too, is the parent", () => {
  expect(shapeOf([step("a", null), step("b", null, { remoteParentId: "a" })])).toEqual([
    ["a", null, 0, false],
    ["b", "a", 1, false],
  ]);
});

test("a loop of parents ends at its first log, which is marked", () => {
  expect(shapeOf([step("a", "c"), step("b", "a"), step("c", "b"), step("d", "d")])).toEqual([
    ["a", null, 0, true],
    ["b", "a", 1, false],
    ["c", "b", 2, false],
    ["d", null, 0, true],
  ]);
});

test("a tree of 100,000 logs grows and is summed up in pieces of 1,000, in each of the seven walks over them", () => {
  const chain = Array.from({ length: 100_000 }, (_, n) => step(`${n}`, n ? `${n - 1}` : null));
  expect([...growTree(chain)].length).toBeGreaterThanOrEqual(5 * 100);
  expect([...sumUp(treeOf(chain))].length).toBeGreaterThanOrEqual(2 * 100);
});

test("a chain of 100,000 logs and 100,000 children of one take linear time", () => {
  const chain = Array.from({ length: 100_000 }, (_, n) => step(`${n}`, n ? `${n - 1}` : null));
  const children = Array.from({ length: 100_000 }, (_, n) => step(`${n}`, n ? "0" : null));
  expect(placedOf(chain).at(-1)!.depth).toBe(99_999);
  expect(placedOf(children)[0]!.subtree.logs).toBe(100_000);
}, 20_000);
