import { expect, test, vi } from "vitest";
import type { Database } from "../../src/database/open.ts";
import { createPacedReads } from "../../src/database/pauses.ts";

test("the reads of a request follow each other, with those of others in between where they take long, and fail alone", async () => {
  const turn = vi.fn(async () => {});
  const database = { turn } as Pick<Database, "turn"> as Database;
  const read = createPacedReads({ database, deadline: { atMs: Number.POSITIVE_INFINITY } }, "one");
  let running = 0;
  let mostAtOnce = 0;
  const long = async (n: number) => {
    mostAtOnce = Math.max(mostAtOnce, ++running);
    for (const sinceMs = performance.now(); performance.now() - sinceMs < 12; );
    await Promise.resolve();
    running -= 1;
    if (n === 2) throw new Error("gone");
    return n;
  };
  const results = await Promise.allSettled(Array.from({ length: 5 }, (_, n) => read(() => long(n))));
  expect(results.map((result) => (result.status === "fulfilled" ? result.value : "failed"))).toEqual([
    0,
    1,
    "failed",
    3,
    4,
  ]);
  expect(mostAtOnce).toBe(1);
  expect(turn.mock.calls).toEqual(Array(4).fill(["one"]));
});
