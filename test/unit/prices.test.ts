import { expect, test, vi } from "vitest";
import { priceOf } from "../../src/usage/prices.ts";

const price = (model: string, provider: string | null = "anthropic") =>
  priceOf({
    model: { provider, model },
    ...{ inputTokens: 1_000_000, outputTokens: 0, at: new Date() },
    ...{ cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null },
  });

test("a name of 256 characters has the price of what it begins with, and a longer one has none", async () => {
  const model = "claude-3-5-sonnet-";
  const known = await price(model.padEnd(256, "x"));
  expect(known).toBeGreaterThan(0);
  expect(await price(model.padEnd(257, "x"))).toBeNull();
  expect(await price("gpt-4o", "x".repeat(257))).toBeNull();
});

test("a model beside which ASCII does not suffice costs the search no more than one in ASCII", async () => {
  await price("gpt-4o"); // loads the library
  const lowered = vi.spyOn(String.prototype, "toLowerCase");
  try {
    await price("\u0130".repeat(200), "\u0130".repeat(200));
    expect(lowered.mock.contexts.length).toBeGreaterThan(0);
    expect(lowered.mock.contexts.filter((name) => /\u0130/.test(`${name}`))).toEqual([]);
  } finally {
    lowered.mockRestore();
  }
});
