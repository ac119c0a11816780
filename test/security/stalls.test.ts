import { expect, test } from "vitest";
import type { Within } from "../../faults/outcome.ts";
import { lookForStalls, onAnyMachine } from "../../faults/stalls.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { isOnPostgresql } from "../support/server.ts";

// The long form, with larger inputs and on a quiet machine: npm run faults -- stalls
const TIMEOUT_MS = 600_000;
const ANSWER_TIMEOUT_MS = 20_000;
const CASES = 30;
const MAX_FROM = 1_000_000;

const within: Within = async (run) => {
  await using database = await newDatabase();
  return await run(database.databaseUrl);
};
const look = (wanted: { cases: number; from: number; maxFaults?: number; how?: { preload: string } }) =>
  lookForStalls(within, { bounds: onAnyMachine, timeoutMs: ANSWER_TIMEOUT_MS, ...wanted });

test(
  "however one input of either API grows, processor time grows no faster, and memory comes back",
  async () => {
    const { faults, inputs, cases, requests, taken } = await look({
      cases: CASES,
      from: Math.floor(Math.random() * MAX_FROM),
    });
    expect(faults).toEqual([]);
    expect(cases).toBe(CASES);
    expect(inputs).toBeGreaterThan(900);
    expect(taken).toBeGreaterThan(requests / 20);
  },
  TIMEOUT_MS,
);

// What it sees is the time of the process, whatever the database.
if (!isOnPostgresql)
  test(
    "that test sees an expression that looks at the rest of a body again from each of its characters",
    async () => {
      const { faults } = await look({ cases: 50, from: 0, maxFaults: 1, how: { preload: "quadratic" } });
      expect(faults).toEqual([expect.stringMatching(/ms of processor time|no answer/)]);
    },
    TIMEOUT_MS,
  );
