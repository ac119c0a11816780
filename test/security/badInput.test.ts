import { expect, test } from "vitest";
import { sendBadInput } from "../../faults/badInput.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { isOnPostgresql } from "../support/server.ts";

// The long form: npm run faults -- bad-input
const TIMEOUT_MS = 600_000;
// Full rounds of all kinds; most are refused before a statement, whichever database there is.
const CASES = isOnPostgresql ? 500 : 1_000;
const KEPT = CASES / 4;
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
