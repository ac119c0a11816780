import { expect, test } from "vitest";
import { sendBadInput } from "../../faults/badInput.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form: npm run faults -- bad-input
const TIMEOUT_MS = 600_000;
const CASES = 1_000; // full rounds of all kinds
const KEPT = 250;
const FIXED = 1;

test(
  "whatever is sent to either API is answered as documented, and what is accepted is read back as it was sent",
  async () => {
    await using database = await newDatabase();
    const seeds = [FIXED, Math.floor(Math.random() * 2 ** 30)];
    const { faults, cases, accepted, kept } = await sendBadInput(database, {
      cases: CASES,
      kept: KEPT,
      seeds,
    });
    expect(faults).toEqual([]);
    expect(cases).toMatchObject({ rest: CASES, graphql: CASES, raw: CASES / 10 });
    for (const count of [accepted.rest, accepted.graphql]) expect(count).toBeGreaterThan(CASES / 10);
    expect(kept).toBeGreaterThanOrEqual(KEPT);
  },
  TIMEOUT_MS,
);

test.each([
  [
    "its statements are put together from texts",
    "textsInStatements",
    { cases: 2_000, kept: 0 }, // it ends at the first
    "INTERNAL|500",
  ],
  ["texts are not checked", "textsUnchecked", { cases: 0, kept: 250 }, "came back as|500"],
])(
  "that test sees a Gabbro of which %s",
  async (_, preload, wanted, message) => {
    await using database = await newDatabase();
    const spoilt = { ...database, preload };
    const { faults } = await sendBadInput(spoilt, { ...wanted, seeds: [FIXED], maxFaults: 1 });
    expect(faults[0]).toMatch(new RegExp(message));
  },
  TIMEOUT_MS,
);
