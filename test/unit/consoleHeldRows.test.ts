import { expect, test } from "vitest";
import { HeldRows } from "../../console/src/screens/dataset/HeldRows.ts";
import { entryAt, type PageToRead } from "../../console/src/screens/dataset/runs.ts";

interface Row {
  id: string;
}

const rowsOf = (count: number): Row[] => Array.from({ length: count }, (_, n) => ({ id: `r${n}` }));
const failure = { message: "It cannot be read." } as NonNullable<ReturnType<HeldRows<Row>["now"]>["error"]>;
const numberOf = ({ id }: Row) => Number(/\d+/.exec(id) ?? 0);

/** Rows as a server holds them, which answers each page when it is told to. */
function startReading(stored: Row[], count = stored.length) {
  const server = { stored, isBroken: false };
  const pages: PageToRead[] = [];
  let answer = () => {};
  const held = new HeldRows<Row>(count, (page) => {
    pages.push(page);
    const isBefore = (row: Row) => page.after !== null && numberOf(row) <= numberOf({ id: page.after });
    const from = server.stored.filter(isBefore).length; // a cursor holds its place when its row is gone
    const entries = server.stored.slice(from + page.offset, from + page.offset + page.first);
    const hasNext = from + page.offset + page.first < server.stored.length;
    const data = { entries, end: entries.at(-1)?.id ?? null, hasNext };
    const result = server.isBroken ? { error: failure } : { data };
    return new Promise((resolve) => {
      answer = () => resolve(result);
    });
  });
  const answerOne = async () => {
    answer();
    for (let n = 0; n < 10; n++) await null;
  };
  /** Answers until nothing is asked for any more. */
  const settle = async () => {
    for (let before = -1; before !== pages.length; ) {
      before = pages.length;
      await answerOne();
    }
  };
  const shown = (index: number) => entryAt(held.now().list, index)?.id;
  const heldCount = () => held.now().list.runs.reduce((sum, { entries }) => sum + entries.length, 0);
  return { server, held, pages, answerOne, settle, shown, heldCount };
}

test("a page is read at a time, and what was scrolled past meanwhile is not read", async () => {
  const { held, pages, settle, shown } = startReading(rowsOf(100_000));
  for (const from of [0, 20_000, 40_000, 60_000]) held.view({ from, to: from + 20 });
  expect(pages).toHaveLength(1);
  await settle();
  expect(pages.map(({ from }) => from)).toEqual([0, 59_950]);
  expect([shown(60_000), shown(20_000)]).toEqual(["r60000", undefined]);
});

test("20,000 rows are held at most, however far one scrolls", async () => {
  const { held, settle, shown, heldCount } = startReading(rowsOf(30_000));
  for (let from = 0; from < 30_000; from += 250) {
    held.view({ from, to: from + 20 });
    await settle();
    expect(shown(from)).toBe(`r${from}`);
    expect(heldCount()).toBeLessThanOrEqual(20_000 + 300);
  }
});

test("rows that are wanted wherever the view is are read, and kept until they were used", async () => {
  const { held, pages, answerOne, settle, shown } = startReading(rowsOf(60_000));
  held.view({ from: 0, to: 20 });
  await settle();
  const areRead = held.read({ from: 30_000, to: 30_900 });
  await answerOne();
  held.view({ from: 1, to: 21 });
  await settle();
  expect(pages).toHaveLength(4);
  expect(await areRead).toBe(true);
  expect([shown(30_000), shown(30_899), shown(0)]).toEqual(["r30000", "r30899", "r0"]);
});

test("an error is kept and asks for nothing until it is tried again", async () => {
  const { server, held, pages, settle, shown } = startReading(rowsOf(1_000));
  server.isBroken = true;
  held.view({ from: 0, to: 20 });
  await settle();
  held.view({ from: 500, to: 520 });
  await settle();
  expect(held.now().error).toBe(failure);
  expect(pages).toHaveLength(1);
  const areRead = held.read({ from: 0, to: 20 });
  await settle();
  expect(await areRead).toBe(false);
  server.isBroken = false;
  held.retry();
  await settle();
  expect([held.now().error, shown(500)]).toEqual([undefined, "r500"]);
});

test("a page that is on its way while a row is deleted, or all are read again, is read again", async () => {
  const { server, held, settle, shown } = startReading(rowsOf(1_000));
  held.view({ from: 0, to: 20 });
  await settle();
  held.view({ from: 500, to: 520 });
  held.remove("r3");
  server.stored = server.stored.filter(({ id }) => id !== "r3");
  await settle();
  expect([shown(2), shown(3), shown(499), shown(500)]).toEqual(["r2", "r4", "r500", "r501"]);
  server.stored = server.stored.map(({ id }) => ({ id: `new ${id}` }));
  held.reload();
  await settle();
  expect([shown(499), shown(2)]).toEqual(["new r500", undefined]);
});

test("where others have added or deleted rows, the count is asked for and the rows are read again", async () => {
  const { server, held, settle, shown } = startReading(rowsOf(1_000));
  let asked = 0;
  held.onOtherCount = () => {
    asked += 1;
  };
  held.view({ from: 0, to: 20 });
  await settle();
  expect(asked).toBe(0);
  server.stored = server.stored.slice(301);
  held.view({ from: 980, to: 1_000 });
  await settle();
  expect(asked).toBeGreaterThan(0);
  expect(held.now().list.count).toBe(699);
  held.view({ from: 0, to: 20 });
  await settle();
  expect(shown(0)).toBe("r301");
  server.stored = [{ id: "first" }, ...server.stored];
  held.setCount(700);
  await settle();
  expect([shown(0), shown(1)]).toEqual(["first", "r301"]);
});
