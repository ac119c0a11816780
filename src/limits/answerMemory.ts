import type { Writable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import { GabbroError } from "../errors.ts";
import { MAX_ANSWER_BYTES } from "./answerBudget.ts";
import { whileWaiting } from "./eventLoop.ts";
import { createFairQueue } from "./fairQueue.ts";
import { onceDone } from "./handlerWork.ts";

/** Rows take a few times as much memory until they are written as text: at most a quarter of the heap. */
const MAX_HELD_BYTES = Math.max(2 * MAX_ANSWER_BYTES, getHeapStatistics().heap_size_limit / 16);

/**
 * Limits what all answers that are being made hold together, in bytes of the database. One workspace gets at most half.
 */
export function createAnswerMemory(maxBytes = MAX_HELD_BYTES) {
  const ofWorkspace = new Map<string, number>();
  const ofAnswer = new WeakMap<Writable, number>();
  const longAnswers = createFairQueue({
    ...{ places: 8, share: 1, maxWaiting: 500, maxWaitMs: 10_000 },
    busy: "The mutation was carried out, but too many long answers to mutations are being made at once. Ask for what it changed by a query.",
  });
  const turns = new WeakMap<Writable, Promise<void>>();
  const takeTurn = async (answer: Writable, workspaceId: string) => {
    const release = await whileWaiting(() => longAnswers.acquire(workspaceId));
    onceDone(answer, release);
  };
  let total = 0;
  const add = (workspaceId: string, bytes: number) => {
    const workspaceBytes = (ofWorkspace.get(workspaceId) ?? 0) + bytes;
    if (workspaceBytes > 0) ofWorkspace.set(workspaceId, workspaceBytes);
    else ofWorkspace.delete(workspaceId);
    total += bytes;
  };
  const release = (answer: Writable, workspaceId: string) => {
    add(workspaceId, -ofAnswer.get(answer)!);
    ofAnswer.delete(answer);
  };
  return {
    /** Holds bytes until the answer is closed and nobody works on it. Throws UNAVAILABLE when other answers hold too much. */
    hold: (answer: Writable, workspaceId: string, bytes: number): void => {
      const workspaceBytes = ofWorkspace.get(workspaceId) ?? 0;
      if (total + bytes > maxBytes || workspaceBytes + bytes > maxBytes / 2) throw tooMuch();
      const held = ofAnswer.get(answer);
      ofAnswer.set(answer, (held ?? 0) + bytes);
      add(workspaceId, bytes);
      if (held === undefined) onceDone(answer, () => release(answer, workspaceId));
    },
    /**
     * Waits until no other long answer to a mutation of the workspace is made. It counts towards no limit that could refuse it, as what it
     * tells of is stored: 120 of 29,000 fields, made side by side, ended a process with a heap of 512 MB.
     */
    beAlone: (answer: Writable, workspaceId: string): Promise<void> => {
      const turn = turns.get(answer) ?? takeTurn(answer, workspaceId);
      turns.set(answer, turn);
      return turn;
    },
    /** How many bytes all answers hold. */
    heldBytes: (): number => total,
  };
}

function tooMuch(): GabbroError {
  const message = "Too many large answers are being made at once. Ask again in a moment, or for less.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}
