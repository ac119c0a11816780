import { expect, test } from "vitest";
import { sendAgain } from "../../faults/retries.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form: npm run faults -- retries
const TIMEOUT_MS = 120_000;
const REQUESTS = 400;

test(
  "what is sent again with its key because its connection was cut is stored once",
  async () => {
    await using database = await newDatabase();
    const { cut, ...found } = await sendAgain(database, { requests: REQUESTS, keys: "with keys" });
    expect(found).toEqual({ requests: REQUESTS, lost: [], doubled: [], faults: [] });
    expect(cut).toBeGreaterThan(REQUESTS / 10);
  },
  TIMEOUT_MS,
);
