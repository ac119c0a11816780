import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { runShared } from "../../src/limits/eventLoop.ts";
import { createResultTurns } from "../../src/limits/results.ts";

function work(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test("what follows the results of a workspace takes 10 ms of a turn, and another workspace waits for none of it", async () => {
  const resultTurn = createResultTurns();
  /** Results that come one after another in one turn; gives the turns in which what follows them runs. */
  const turnsOf = (workspaceId: string, count: number) =>
    Array.from(
      { length: count },
      () =>
        new Promise<number>((resolve) => {
          setImmediate(() =>
            runShared(workspaceId, async () => {
              await resultTurn();
              work(6);
              resolve(turn);
            }),
          );
        }),
    );
  let turn = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turn++) await nextTurn();
  })();
  await nextTurn();
  const [greedy, other] = [turnsOf("greedy", 8), turnsOf("other", 1)];
  const turns = await Promise.all(greedy);
  expect(await other[0]).toBe(turns[0]);
  isOver = true;
  await counting;
  expect(turns).toEqual(turns.toSorted((a, b) => a - b));
  for (const ofTurn of Map.groupBy(turns, (one) => one).values())
    expect(ofTurn.length).toBeLessThanOrEqual(2);
});

test("outside of requests nothing waits", () => {
  const resultTurn = createResultTurns();
  for (let n = 0; n < 3; n++) {
    expect(resultTurn()).toBeUndefined();
    work(6);
  }
});
