import { setImmediate as nextTurn } from "node:timers/promises";

/** How often others can be served while a request is carried out. */
export async function turnsDuring(ask: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const asked = ask().finally(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await nextTurn();
  await asked;
  return turns;
}

/** Counts the turns of the event loop, to tell whether others can be served between two things. */
export function countTurns() {
  let turn = 0;
  const count = () => {
    turn += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  return { now: () => turn, stop: () => clearImmediate(next) };
}
