import { expect, test } from "vitest";
import { compareLines, type DiffLine } from "../../console/src/screens/prompt/diffLines.ts";

const sideOf = (parts: { text: string }[] | null) => parts?.map(({ text }) => text).join("") ?? null;
const sides = (lines: DiffLine[]) =>
  lines.map((line) => (line.kind === "same" ? line.text : [sideOf(line.before), sideOf(line.after)]));

test.each([
  ["a line that is added at the end", "a\nb", "a\nb\nc", ["a", "b", [null, "c"]]],
  ["a line that is removed at the end", "a\nb", "a", ["a", ["b", null]]],
  ["an empty line at the end", "a", "a\n", ["a", [null, ""]]],
  ["a word of a line", "a b\nc", "a d\nc", [["a b", "a d"], "c"]],
  ["nothing", "a\nb", "a\nb", ["a", "b"]],
])("two texts that differ in %s show the other lines as they are", (_, before, after, lines) => {
  expect(sides(compareLines(before, after))).toEqual(lines);
});
