import { expect, test } from "vitest";
import { createSharedReads } from "../../src/database/sharedReads.ts";

/** Reads that end when a test says so; `change` stands for a commit. */
function controlledReads() {
  const share = createSharedReads<number>();
  const running: { generation: string | null; end: PromiseWithResolvers<number> }[] = [];
  let commits = 0;
  return {
    running,
    change: () => {
      commits += 1;
    },
    ask: () =>
      share("key", {
        now: () => `${commits}`,
        read: (generation) => {
          const end = Promise.withResolvers<number>();
          running.push({ generation, end });
          return end.promise;
        },
      }),
  };
}

test("who asks while nothing has changed shares the read that runs", async () => {
  const { ask, running } = controlledReads();
  const asked = Array.from({ length: 3 }, ask);
  expect(running).toHaveLength(1);
  running[0]!.end.resolve(1);
  expect(await Promise.all(asked)).toEqual([1, 1, 1]);
  void ask();
  expect(running).toHaveLength(2);
});

test("who asks after a change gets a read that begins after it, and never do two run at once", async () => {
  const { ask, running, change } = controlledReads();
  const first = ask();
  const later: Promise<number>[] = [];
  for (let n = 0; n < 100; n++) {
    change();
    later.push(ask());
  }
  expect(running).toHaveLength(1);
  running[0]!.end.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => running.map(({ generation }) => generation)).toEqual(["0", "100"]);
  running[1]!.end.resolve(2);
  expect(await Promise.all(later)).toEqual(Array(100).fill(2));
});

test("a read that fails fails for all who share it, and the next one begins all the same", async () => {
  const { ask, running, change } = controlledReads();
  const first = ask();
  change();
  const next = ask();
  running[0]!.end.reject(new Error("no connection"));
  await expect(first).rejects.toThrow("no connection");
  await expect.poll(() => running.length).toBe(2);
  running[1]!.end.resolve(2);
  expect(await next).toBe(2);
});
