import type { Writable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import { GabbroError } from "../errors.ts";
import { MAX_ANSWER_BYTES } from "./answerBudget.ts";

/** What is read takes a few times as much memory until it is written as text: a quarter of the heap at most. */
const MAX_HELD_BYTES = Math.max(2 * MAX_ANSWER_BYTES, getHeapStatistics().heap_size_limit / 16);

/**
 * Bounds what is read for all answers that are being made at once, in bytes of the database; one workspace gets half of
 * it.
 */
export function createAnswerMemory(maxBytes = MAX_HELD_BYTES) {
  const ofWorkspace = new Map<string, number>();
  const ofAnswer = new WeakMap<Writable, number>();
  let total = 0;
  const add = (workspaceId: string, bytes: number) => {
    const held = (ofWorkspace.get(workspaceId) ?? 0) + bytes;
    if (held > 0) ofWorkspace.set(workspaceId, held);
    else ofWorkspace.delete(workspaceId);
    total += bytes;
  };
  const letGo = (answer: Writable, workspaceId: string) => {
    add(workspaceId, -ofAnswer.get(answer)!);
    ofAnswer.delete(answer);
  };
  return {
    /** Holds bytes until the answer is closed. Throws UNAVAILABLE when other answers hold too much. */
    hold: (answer: Writable, workspaceId: string, bytes: number): void => {
      if (answer.destroyed) return; // nobody waits for it; its deadline ends it
      const held = ofWorkspace.get(workspaceId) ?? 0;
      if (total + bytes > maxBytes || held + bytes > maxBytes / 2) throw tooMuch();
      if (!ofAnswer.has(answer)) answer.once("close", () => letGo(answer, workspaceId));
      ofAnswer.set(answer, (ofAnswer.get(answer) ?? 0) + bytes);
      add(workspaceId, bytes);
    },
    /** How many bytes all answers hold. */
    heldBytes: (): number => total,
  };
}

function tooMuch(): GabbroError {
  const message = "Too many large answers are being made at once. Ask again in a moment, or for less.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}
