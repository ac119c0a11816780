import { expect, test } from "vitest";
import type { Within } from "../../faults/outcome.ts";
import { longRows } from "../../faults/stalls/longRows.ts";
import { longVersions } from "../../faults/stalls/longVersions.ts";
import { lookForStoredStalls } from "../../faults/storedStalls.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form, which stores as much as a caller does in minutes and measures the neighbour: npm run faults -- stored-stalls
const TIMEOUT_MS = 300_000;

const within: Within = async (run) => {
  await using database = await newDatabase();
  return await run(database.databaseUrl);
};

test(
  "whichever field is asked for over long rows and versions, no answer is an error of the server, and memory comes back",
  async () => {
    const { requests, faults } = await lookForStoredStalls(within, {
      ...{ of: [longRows, longVersions], scale: 0.02, maxWaitMs: Number.POSITIVE_INFINITY },
    });
    expect(faults).toEqual([]);
    expect(requests).toBeGreaterThan(500);
  },
  TIMEOUT_MS,
);
