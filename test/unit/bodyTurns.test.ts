import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createBodyTurns } from "../../src/http/bodyTurns.ts";
import { countTurns } from "../support/turns.ts";

const PIECE = 64 * 1024;

test("as many bytes of a workspace as are given pass in a turn, and another workspace waits for none of them", async () => {
  const inTurn = createBodyTurns(4 * PIECE);
  const turns = countTurns();
  const passed: Record<string, number[]> = { greedy: [], other: [] };
  const pass = (workspaceId: string, number: number) =>
    inTurn(workspaceId, { rank: number, bytes: PIECE, pass: () => passed[workspaceId]!.push(turns.now()) });
  for (let number = 0; number < 16; number++) pass("greedy", number);
  pass("other", 16);
  while (passed.greedy!.length < 16) await nextTurn();
  turns.stop();
  expect(passed.other).toEqual([0]);
  const ofTurns = [...Map.groupBy(passed.greedy!, (turn) => turn).values()];
  expect(ofTurns.map(({ length }) => length)).toEqual([4, 4, 4, 4]);
});

test("of pieces that wait those of a lower rank pass first, and of the same rank those that came first", async () => {
  const inTurn = createBodyTurns(PIECE);
  const passed: string[] = [];
  const pass = (name: string, rank: number, then = () => {}) =>
    inTurn("one", {
      rank,
      bytes: PIECE,
      pass: () => {
        passed.push(name);
        then();
      },
    });
  pass("first", 1);
  pass("later", 3);
  pass("early", 1, () => pass("early, again", 1));
  pass("between", 2);
  pass("as early", 1);
  while (passed.length < 6) await nextTurn();
  expect(passed).toEqual(["first", "early", "as early", "early, again", "between", "later"]);
});
