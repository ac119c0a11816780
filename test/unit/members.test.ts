import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { objectOf } from "../../src/limits/members.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("objects whose members are named by numbers take no room for the numbers between", () => {
  collect();
  const before = process.memoryUsage().heapUsed;
  const objects = Array.from({ length: 2_000 }, () =>
    objectOf([
      ["999", 1],
      ["2500", 2],
      ["3300", 3],
    ]),
  );
  collect();
  const bytesEach = (process.memoryUsage().heapUsed - before) / objects.length;
  expect(bytesEach).toBeLessThan(2_000); // without, 30,000
  expect(objects[0]).toEqual({ 999: 1, 2500: 2, 3300: 3 });
  expect(Object.keys(objects[0]!)).toEqual(["999", "2500", "3300"]);
});

test("members keep any name that callers give them", () => {
  const names = ["4294967294", "1", "2", "10", "9999", "4294967295", "__proto__", "a"];
  const object = objectOf(names.map((name) => [name, name]));
  expect(Object.keys(object).toSorted()).toEqual(names.toSorted());
  expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
});
