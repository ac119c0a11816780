import { expect, test, vi } from "vitest";
import { createPause } from "../../src/limits/turns.ts";
import { turnsDuring } from "../support/turns.ts";

test("a pause after a long wait leaves others 64 ms", async () => {
  let nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
  const pause = createPause();
  nowMs = 5_000;
  const turns = await turnsDuring(async () => {
    const paused = pause();
    vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 10)); // each turn of others takes 10 ms
    await paused;
  });
  vi.restoreAllMocks();
  expect(turns).toBeLessThan(20);
});
