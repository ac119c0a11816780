import type { ServerResponse } from "node:http";
import { getHeapStatistics } from "node:v8";
import { MAX_ANSWER_BYTES } from "../limits/answerBudget.ts";

/** Of a text with one character beyond Latin-1, V8 keeps two bytes for each. */
const BYTES_PER_CHARACTER = 2;
/** Twice what answers may hold of the database while they are made, and room for one of the largest in each half. */
const MAX_HELD_BYTES = Math.max(
  2 * BYTES_PER_CHARACTER * MAX_ANSWER_BYTES,
  getHeapStatistics().heap_size_limit / 8,
);

interface Text {
  bytes: number;
  readers: number;
}

interface Held {
  bytes: number;
  texts: Map<object, Text>;
  /** By response, in the order in which they began to be sent; each with what its text belongs to. */
  readers: Map<ServerResponse, object>;
}

/**
 * Limits what the large texts that are being sent take together. A client that reads nothing of its answer keeps the text in memory:
 * 69 of them, of 30 million characters each, ended a process with a heap of 4 GB. One workspace gets at most half; beyond it, or
 * beyond all, the connections that have been sent one for the longest time are closed.
 */
export function createUnreadTexts(maxBytes = MAX_HELD_BYTES) {
  const workspaces = new Map<string, Held>();
  let total = 0;
  const count = (held: Held, bytes: number) => {
    held.bytes += bytes;
    total += bytes;
  };
  const forget = (workspaceId: string, reader: ServerResponse) => {
    const held = workspaces.get(workspaceId);
    const of = held?.readers.get(reader);
    if (!held || !of) return;
    held.readers.delete(reader);
    const text = held.texts.get(of)!;
    text.readers -= 1;
    if (text.readers > 0) return;
    held.texts.delete(of);
    count(held, -text.bytes);
    if (held.readers.size === 0) workspaces.delete(workspaceId);
  };
  const closeOldest = (workspaceId: string, but: ServerResponse): boolean => {
    const [oldest] = workspaces.get(workspaceId)!.readers.keys();
    if (!oldest || oldest === but) return false;
    forget(workspaceId, oldest);
    oldest.destroy();
    return true;
  };
  const largest = () =>
    [...workspaces].reduce((one, other) => (other[1].bytes > one[1].bytes ? other : one))[0];
  return {
    /** Counts a text until its response is closed. `of` is what the text belongs to, for all who are sent the same one. */
    hold: (
      reader: ServerResponse,
      workspaceId: string,
      { of, characters }: { of: object; characters: number },
    ) => {
      if (reader.closed) return;
      const held: Held = workspaces.get(workspaceId) ?? { bytes: 0, texts: new Map(), readers: new Map() };
      workspaces.set(workspaceId, held);
      const text = held.texts.get(of) ?? { bytes: characters * BYTES_PER_CHARACTER, readers: 0 };
      if (text.readers === 0) count(held, text.bytes);
      text.readers += 1;
      held.texts.set(of, text);
      held.readers.set(reader, of);
      reader.once("close", () => forget(workspaceId, reader));
      while (held.bytes > maxBytes / 2 && closeOldest(workspaceId, reader));
      while (total > maxBytes && closeOldest(largest(), reader));
    },
  };
}
