import { expect, it } from "vitest";
import { textOf, toValue } from "../../console/src/screens/dataset/cells.ts";

const values = ["a", "5", "true", '"quoted"', "{", '{"a":1}', "007", "", 5, false, [1, { b: "c" }]];

it.each(values)("a value of a column of JSON is the same when its text is saved: %j", (value) => {
  const column = { key: "value j", title: "j", type: "JSON" as const, isIdealOutput: false };
  const row = { id: "r", key: null, name: null, values: { j: value }, idealOutput: null };
  expect(toValue(textOf(row, column), value, column)).toEqual(value);
});
