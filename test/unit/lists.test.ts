import { expect, test, vi } from "vitest";
import { z } from "zod";
import { list } from "../../src/validation/list.ts";
import { MAX_ERRORS } from "../../src/validation/messages.ts";

const even = vi.fn((value: number) => value % 2 === 0);
const numbers = list(z.number().refine(even, { error: "must be even" }), 1_000);
const errorsOf = (value: unknown) =>
  numbers.safeParse(value).error?.issues.map(({ path, message }) => [path.join("."), message]);

test("a list has its items as they are read", () => {
  expect(list(z.string().toUpperCase(), 2).parse(["a", "b"])).toEqual(["A", "B"]);
});

test("each error names its item", () => {
  expect(errorsOf([2, 3, "4"])).toEqual([
    ["1", "must be even"],
    ["2", "must be a number"],
  ]);
});

test("an error keeps what it says beside its message", () => {
  const objects = list(z.strictObject({ a: z.number() }), 2);
  expect(objects.safeParse([{ a: 1, b: 2 }]).error?.issues).toMatchObject([
    { code: "unrecognized_keys", keys: ["b"], path: [0] },
  ]);
});

test("items after a hundred errors are not validated", () => {
  even.mockClear();
  expect(errorsOf(Array(1_000).fill(1))).toHaveLength(MAX_ERRORS);
  expect(even).toHaveBeenCalledTimes(MAX_ERRORS);
});

test("a list that is too long has one error, and none of its items is validated", () => {
  even.mockClear();
  expect(errorsOf(Array(1_001).fill(1))).toEqual([["", "must have at most 1000 items"]]);
  expect(even).not.toHaveBeenCalled();
});

test.each([undefined, null, "a", { length: 1 }])("%j is no list", (value) => {
  expect(errorsOf(value)).toHaveLength(1);
});

test("what is checked of a list as a whole is not checked of a wrong one", () => {
  const whole = vi.fn(() => true);
  numbers.refine(whole).safeParse([1]);
  expect(whole).not.toHaveBeenCalled();
  numbers.refine(whole).parse([2]);
  expect(whole).toHaveBeenCalledTimes(1);
});
