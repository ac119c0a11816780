import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  entryAt,
  entryWith,
  indexOf,
  nextPage,
  type Sparse,
  trimmed,
  withChange,
  withEntry,
  without,
  withPage,
} from "../../console/src/screens/dataset/runs.ts";

interface Entry {
  id: string;
}

const PAGE = 10;

/** What a server answers to a page of its entries, whose cursors are their ids: they hold their place when an entry is gone. */
function answer(stored: Entry[], { after, offset, first }: NonNullable<ReturnType<typeof nextPage>>) {
  const passed = after === null ? [] : stored.filter(({ id }) => numberOf(id) <= numberOf(after));
  const from = passed.length + offset;
  const entries = stored.slice(from, from + first);
  return { entries, end: entries.at(-1)?.id ?? null, hasNext: from + first < stored.length };
}

const entriesOf = (count: number): Entry[] => Array.from({ length: count }, (_, n) => ({ id: `e${n}` }));
const numberOf = (id: string) => Number(id.slice(1));
const emptyOf = (count: number): Sparse<Entry> => ({ count, runs: [] });

function readAll(list: Sparse<Entry>, stored: Entry[], range: { from: number; to: number }) {
  let [read, pages] = [list, 0];
  for (let page = nextPage(read, range, PAGE); page; page = nextPage(read, range, PAGE)) {
    read = withPage(read, { from: page.from, ...answer(stored, page) });
    pages += 1;
    if (pages > 1_000) throw new Error("It never ends.");
  }
  return { read, pages };
}

const shownOf = (list: Sparse<Entry>) => Array.from({ length: list.count }, (_, n) => entryAt(list, n)?.id);

describe("the rows of the grid that are held", () => {
  test("are those of the dataset, wherever one scrolls, changes, adds, deletes and forgets", () => {
    const range = fc.record({
      from: fc.integer({ min: -9, max: 300 }),
      size: fc.integer({ min: 1, max: 60 }),
    });
    const step = fc.oneof(
      { weight: 4, arbitrary: range.map((at) => ({ kind: "view" as const, at })) },
      range.map((at) => ({ kind: "trim" as const, at })),
      fc.nat(299).map((index) => ({ kind: "delete" as const, index })),
      fc.constant({ kind: "add" as const }),
    );
    fc.assert(
      fc.property(fc.nat(300), fc.array(step, { maxLength: 40 }), (count, steps) => {
        let stored = entriesOf(count);
        let list = emptyOf(count);
        for (const [n, one] of steps.entries()) {
          if (one.kind === "view") {
            const wanted = { from: one.at.from, to: one.at.from + one.at.size };
            list = readAll(list, stored, wanted).read;
            expect(nextPage(list, wanted, PAGE)).toBeNull();
          } else if (one.kind === "trim") {
            list = trimmed(list, { from: one.at.from, to: one.at.from + one.at.size }, 80);
            expect(shownOf(list).filter(Boolean).length).toBeLessThanOrEqual(80);
          } else if (one.kind === "add") {
            const entry = { id: `e${count + n}` };
            stored = [...stored, entry];
            list = withEntry(list, entry);
          } else {
            const gone = stored[one.index];
            if (!gone) continue;
            stored = stored.filter((entry) => entry !== gone);
            list = without(list, gone.id);
          }
          const shown = shownOf(list);
          expect(list.count).toBe(stored.length);
          expect(stored.map(({ id }, index) => shown[index] ?? id)).toEqual(stored.map(({ id }) => id));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("are read where one looks, without those before", () => {
    const stored = entriesOf(1_000_000);
    const { read, pages } = readAll(emptyOf(stored.length), stored, { from: 900_000, to: 900_030 });
    expect(pages).toBe(3);
    expect(entryAt(read, 900_029)).toBe(stored[900_029]);
    expect(entryAt(read, 899_999)).toBeUndefined();
    expect(indexOf(read, "e900005")).toBe(900_005);
  });

  test("go on by the cursor of the page before, and upwards with a page that ends where rows are held", () => {
    const stored = entriesOf(100);
    const { read } = readAll(emptyOf(100), stored, { from: 50, to: 55 });
    expect(nextPage(read, { from: 55, to: 70 }, PAGE)).toEqual({
      from: 60,
      after: "e59",
      offset: 0,
      first: 10,
    });
    expect(nextPage(read, { from: 48, to: 55 }, PAGE)).toEqual({
      from: 40,
      after: null,
      offset: 40,
      first: 10,
    });
  });

  test("are forgotten where a page shows that others stand there now", () => {
    const stored = entriesOf(100);
    const before = readAll(emptyOf(100), stored, { from: 0, to: 20 }).read;
    const left = stored.slice(15); // others have deleted fifteen
    const page = { from: 60, after: null, offset: 60, first: 10 };
    expect(entryAt(withPage(before, { from: 60, ...answer(left, page) }), 3)?.id).toBe("e3");
    const moved = withPage(before, { from: 0, ...answer(left, { ...page, offset: 0 }) });
    expect(shownOf(moved).filter(Boolean)).toEqual(left.slice(0, 10).map(({ id }) => id));
  });

  test("are read again where a page shows that there are fewer", () => {
    const stored = entriesOf(25);
    for (const range of [
      { from: 20, to: 30 },
      { from: 80, to: 90 },
    ]) {
      const { read } = readAll(emptyOf(100), stored, range);
      expect(read.count).toBeLessThan(100);
      expect(shownOf(readAll(read, stored, { from: 0, to: 100 }).read)).toEqual(stored.map(({ id }) => id));
    }
  });

  test("are changed by their ids", () => {
    const { read } = readAll(emptyOf(5), entriesOf(5), { from: 0, to: 5 });
    const changed = withChange<Entry & { note?: string }>(read, "e3", (entry) => ({
      ...entry,
      note: "changed",
    }));
    expect(entryWith(changed, "e3")).toEqual({ id: "e3", note: "changed" });
    expect(entryWith(changed, "e2")).toEqual({ id: "e2" });
    expect(entryWith(changed, "gone")).toBeUndefined();
  });
});
