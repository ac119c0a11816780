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
