import { expect, test } from "vitest";
import { boundedByCharacters } from "../../src/database/cache.ts";
import { createShares } from "../../src/limits/shares.ts";

test("a cache holds 8,000,000 characters, whatever the length of the values", () => {
  const cache = boundedByCharacters<{ text: string }>();
  for (let n = 0; n < 100; n++) cache.set(`key ${n}`, { text: "x".repeat(500_000) });
  expect(cache.size).toBe(15);
  cache.set("too large", { text: "x".repeat(9_000_000) });
  expect(cache.has("too large")).toBe(false);
});

test("of small values fewer characters are cached, as they take more memory than their text", () => {
  const cache = boundedByCharacters<object[]>();
  const values = () => Array.from({ length: 10_000 }, () => ({})); // 30,000 characters
  for (let n = 0; n < 100; n++) cache.set(`key ${n}`, values());
  expect(cache.size).toBe(24);
});

test("of a thousand workspaces the shares are kept for reuse, and not of more", () => {
  const shares = createShares(1_000_000);
  const taken = Array.from({ length: 3_000 }, (_, n) => shares.take(`workspace ${n}`, 1)!);
  for (const share of taken) share.giveBack(1);
  const reused = taken.filter((share, n) => shares.take(`workspace ${n}`, 1) === share);
  expect(reused.length).toBeGreaterThan(900);
  expect(reused.length).toBeLessThan(1_100);
});
