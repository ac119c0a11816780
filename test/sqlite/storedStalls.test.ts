import { expect, test } from "vitest";
import type { Within } from "../../faults/outcome.ts";
import { longRows } from "../../faults/stalls/longRows.ts";
import { lookForStoredStalls } from "../../faults/storedStalls.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form stores all that a caller can in minutes, measures the neighbour, and has a control, on both databases:
// npm run faults -- stored-stalls
const TIMEOUT_MS = 300_000;

const within: Within = async (run) => {
  await using database = await newDatabase();
  return await run(database.databaseUrl);
};

test(
  "whichever field is asked for over long rows, no answer is an error of the server, and memory comes back",
  async () => {
    const { requests, faults } = await lookForStoredStalls(within, {
      ...{ of: [longRows], scale: 0.02, maxWaitMs: Number.POSITIVE_INFINITY },
    });
    expect(faults).toEqual([]);
    expect(requests).toBeGreaterThan(150);
  },
  TIMEOUT_MS,
);
