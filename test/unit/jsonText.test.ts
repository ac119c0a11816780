import { expect, test } from "vitest";
import { writeJson } from "../../src/limits/jsonText.ts";

function written(value: unknown) {
  const writing = writeJson(value);
  let pauses = 0;
  for (;;) {
    const step = writing.next();
    if (step.done) return { text: step.value, pauses };
    pauses += 1;
  }
}

const long = 'é"\\\u0007'.repeat(100_000);
const members = Object.fromEntries(
  Array.from({ length: 5_000 }, (_, n) => [`a"${n}`, [n / 7, null, long[n]]]),
);

test.each<[string, unknown]>([
  ["a text", long],
  ["small values", { a: [1, "2", null, true, { b: [] }], c: {} }],
  ["many fractions", Array.from({ length: 20_000 }, (_, n) => n / 7)],
  ["many members", members],
  ["large values in a list", [1, long, { a: long, b: undefined, c: [members] }, undefined, [long, long]]],
  ["a date", { at: new Date(0), all: [new Date(1)] }],
  ["an object without a prototype", Object.assign(Object.create(null), { a: [members], b: null })],
])("JSON in pieces is that of JSON.stringify: %s", (_, value) => {
  expect(written(value).text).toBe(JSON.stringify(value));
});

test("a large value is written with pauses for others, a small one at once", () => {
  expect(written(Array(400_000).fill(0.1)).pauses).toBeGreaterThan(1_500);
  expect(written([members, members]).pauses).toBeGreaterThan(100);
  expect(written(Array(200).fill(0.1)).pauses).toBe(0);
});

test("a value is not looked at again for each level above it", () => {
  let lookUps = 0;
  const counted = new Proxy({ a: 1 } as object, {
    ownKeys: (target) => {
      lookUps += 1;
      return Reflect.ownKeys(target);
    },
  });
  let deep: unknown = [counted, ...Array(300).fill(1)];
  for (let level = 0; level < 90; level++) deep = [deep];
  expect(written(deep).text).toBe(JSON.stringify(deep));
  expect(lookUps).toBeLessThan(20); // not once for each level
});
