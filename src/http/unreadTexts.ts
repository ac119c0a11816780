import type { ServerResponse } from "node:http";
import { getHeapStatistics } from "node:v8";
import { MAX_ANSWER_BYTES } from "../limits/answerBudget.ts";

/** Twice what answers may hold of the database while they are made, and room for one of the largest in each half. */
const MAX_TEXT_BYTES = Math.max(4 * MAX_ANSWER_BYTES, getHeapStatistics().heap_size_limit / 8);

interface Text {
  bytes: number;
  responses: number;
}

interface Texts {
  bytes: number;
  /** By the object that owns the text. */
  byOwner: Map<object, Text>;
  /** The owners of their texts by responses, in the order in which these began to be sent. */
  responses: Map<ServerResponse, object>;
}

/**
 * Limits what the large texts that are being sent take together. A client that reads nothing of its answer keeps the text in memory:
 * 69 of them, of 30 million characters each, ended a process with a heap of 4 GB. One workspace gets at most half; beyond it, or
 * beyond all, the connections that have been sent one for the longest time are closed.
 */
export function createUnreadTexts(maxBytes = MAX_TEXT_BYTES) {
  const workspaces = new Map<string, Texts>();
  let total = 0;
  const count = (texts: Texts, bytes: number) => {
    texts.bytes += bytes;
    total += bytes;
  };
  const release = (workspaceId: string, response: ServerResponse) => {
    const texts = workspaces.get(workspaceId);
    const owner = texts?.responses.get(response);
    if (!texts || !owner) return;
    texts.responses.delete(response);
    const text = texts.byOwner.get(owner)!;
    text.responses -= 1;
    if (text.responses > 0) return;
    texts.byOwner.delete(owner);
    count(texts, -text.bytes);
    if (texts.responses.size === 0) workspaces.delete(workspaceId);
  };
  /** The oldest response of a workspace, other than one that has just begun. */
  const oldestOf = ({ responses }: Texts, newest: ServerResponse) => {
    const [oldest] = responses.keys();
    return oldest === newest ? undefined : oldest;
  };
  const close = (workspaceId: string, response: ServerResponse | undefined): boolean => {
    if (!response) return false;
    release(workspaceId, response);
    response.destroy();
    return true;
  };
  const closeInLargest = (newest: ServerResponse): boolean => {
    const [largest] = [...workspaces]
      .filter(([, texts]) => oldestOf(texts, newest))
      .toSorted(([, one], [, other]) => other.bytes - one.bytes);
    return largest !== undefined && close(largest[0], oldestOf(largest[1], newest));
  };
  return {
    /** Counts a text of so many bytes in memory until its response is closed; once for all responses of the same owner. */
    hold: (
      response: ServerResponse,
      workspaceId: string,
      { owner, bytes }: { owner: object; bytes: number },
    ) => {
      const texts: Texts = workspaces.get(workspaceId) ?? {
        bytes: 0,
        byOwner: new Map(),
        responses: new Map(),
      };
      if (response.closed || texts.responses.has(response)) return;
      workspaces.set(workspaceId, texts);
      const text = texts.byOwner.get(owner) ?? { bytes, responses: 0 };
      if (text.responses === 0) count(texts, text.bytes);
      text.responses += 1;
      texts.byOwner.set(owner, text);
      texts.responses.set(response, owner);
      response.once("close", () => release(workspaceId, response));
      while (texts.bytes > maxBytes / 2 && close(workspaceId, oldestOf(texts, response)));
      while (total > maxBytes && closeInLargest(response));
    },
  };
}
