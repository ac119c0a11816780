import { expect, test } from "vitest";
import { readCollapsed, writeCollapsed } from "../../console/src/screens/trace/collapsed.ts";

const parents = Array.from({ length: 5_000 }, (_, n) => `0199-${String(n).padStart(12, "0")}`);

test.each([
  ["none", 0, 0],
  ["some", 40, 439],
  ["all", 5_000, 3],
  ["all but some", 4_960, 443],
])("an address holds the collapsed steps of a large trace: %s", (_, count, length) => {
  const collapsed = new Set(parents.slice(0, count));
  const part = writeCollapsed(parents, collapsed);
  expect(part).toHaveLength(length);
  expect(readCollapsed(parents, part)).toEqual(collapsed);
});

test("an address holds no collapsed steps where they and the others are too many", () => {
  expect(writeCollapsed(parents, new Set(parents.slice(0, 41)))).toBeUndefined();
});
