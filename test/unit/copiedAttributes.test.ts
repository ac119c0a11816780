import { expect, test } from "vitest";
import { withoutCopies } from "../../src/logs/copiedAttributes.ts";

test("the names of a large value are looked up once, however many attributes it is compared with", () => {
  const members = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`m${n}`, n]));
  let lookUps = 0;
  const input = new Proxy(members, {
    ownKeys: (target) => {
      lookUps += 1;
      return Reflect.ownKeys(target);
    },
  });
  const span = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`a${n}`, { a: n }]));
  const attributes = { span: { ...span, last: { ...members } } };
  const stored = withoutCopies(attributes, { input, output: null, metadata: null });
  expect(stored).toMatchObject({ span: { last: null }, copies: { input: { attribute: "last" } } });
  expect(lookUps).toBeLessThan(10);
});
