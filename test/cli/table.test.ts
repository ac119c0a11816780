import { expect, test } from "vitest";
import { type Column, toTable } from "../../src/commands/table.ts";

interface Row {
  id: string;
  name: string | null;
  count: string;
}

const columns: Column<Row>[] = [
  { title: "ID", cell: ({ id }) => id, isWhole: true },
  { title: "NAME", cell: ({ name }) => name },
  { title: "COUNT", cell: ({ count }) => count, align: "right" },
];

const lines = (...rows: [id: string, name: string | null, count: string][]) =>
  toTable(
    columns,
    rows.map(([id, name, count]) => ({ id, name, count })),
  );

test("columns are as wide as their widest cell, and numbers end at the same place", () => {
  expect(lines(["a", "one", "5"], ["bbb", null, "1,200"])).toEqual([
    "ID   NAME  COUNT",
    "a    one       5",
    "bbb  -     1,200",
  ]);
});

test("a table without rows has its titles", () => {
  expect(lines()).toEqual(["ID  NAME  COUNT"]);
});

test.each([
  ["characters that take two columns of a terminal", "日本", "日本    |"],
  ["emoji", "👩‍👩‍👧", "👩‍👩‍👧      |"],
  ["marks that take none", "e\u0301", "e\u0301       |"],
  ["Latin letters", "wörk", "wörk    |"],
])("columns stay straight after %s", (_, name, line) => {
  const [, , shown] = lines(["a", "12345678", "|"], ["b", name, "|"]);
  expect(shown).toBe(`b   ${line.replace("|", "      |")}`);
});

test("long cells are cut between characters, but never what is typed into other commands", () => {
  const long = "👩‍👩‍👧".repeat(100);
  const [, shown] = lines(["x".repeat(200), long, "1"]);
  expect(shown).toContain(`${"x".repeat(200)}  ${"👩‍👩‍👧".repeat(59)}…  `);
  expect(lines(["a", "y".repeat(60), "1"])[1]).toContain("y".repeat(60));
  expect(lines(["a", "y".repeat(61), "1"])[1]).toContain(`${"y".repeat(59)}… `);
});

test("a cell of few characters with very many marks is cut, too", () => {
  const [, shown] = lines(["a", `e${"\u0301".repeat(10_000)}`, "1"]);
  expect(shown!.length).toBeLessThan(1_000);
});

test("nothing in a cell makes a terminal do anything", () => {
  expect(lines(["\u001b[2J", "a\tb\nc", "\u202e"])[1]).toBe("\\u001b[2J  a\\u0009b\\u000ac  \\u202e");
});
