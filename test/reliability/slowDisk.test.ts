import { expect, test } from "vitest";
import { serveOnSlowDisk } from "../../faults/slowDisk.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form: npm run faults -- slow-disk. There a commit takes 20 ms, in which a slow machine has few writes to share it.
const LOAD = { seconds: 3, commitMs: 200 };
const TIMEOUT = { timeout: 120_000 };

test(
  "when every commit takes 200 ms, many of 64 callers share one, and all are answered",
  TIMEOUT,
  async () => {
    await using database = await newDatabase();
    const { writesPerCommit, failed } = await serveOnSlowDisk(database, LOAD);
    expect(failed).toBe(0);
    expect(writesPerCommit).toBeGreaterThan(2); // without, 1, on a busy machine 3, on an idle one 9 or 23
  },
);
