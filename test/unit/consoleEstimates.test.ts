import { expect, it } from "vitest";
import { type EstimatedCall, estimateChange } from "../../console/src/screens/prompt/estimate.ts";

/** A call at 2 dollars for a million tokens of input, and 8 for one of output. */
const call = (inputTokens: number, outputTokens: number, more: Partial<EstimatedCall> = {}) => ({
  ...{ model: "m", inputTokens, outputTokens, cost: (2 * inputTokens + 8 * outputTokens) / 1e6 },
  ...{ charactersBefore: 100, charactersAfter: 150 },
  ...more,
});

it("tokens grow as characters do, and cost what those of the calls cost", () => {
  const estimate = estimateChange([call(1_000, 10), call(2_000, 500), call(300, 300)]);
  expect(estimate?.tokens).toBeCloseTo(550);
  expect(estimate?.cost).toBeCloseTo((550 * 2) / 1e6, 9);
  const shorter = { charactersAfter: 50 };
  expect(estimateChange([call(1_000, 10, shorter), call(2_000, 500, shorter)])?.tokens).toBeCloseTo(-750);
});

it.each([
  ["all calls are alike", [call(1_000, 100), call(2_000, 200)]],
  ["costs do not follow from tokens", [call(1_000, 10), call(2_000, 500), call(300, 300, { cost: 1 })]],
  ["there are no costs", [call(1_000, 10, { cost: null }), call(2_000, 500, { cost: null })]],
])("the cost is not known when %s", (_, calls) => {
  expect(estimateChange(calls)).toMatchObject({
    tokens: 750 * (calls.length === 3 ? 11 / 15 : 1),
    cost: null,
  });
});

it("nothing is estimated without the tokens of a call", () => {
  expect(estimateChange([call(1, 1, { inputTokens: null })])).toBeNull();
});
