import type { Writable } from "node:stream";

/** What is released when the work on an answer ends, by the stream of the answer. */
const underWork = new WeakMap<Writable, (() => void)[]>();

/** A handler begins to work on an answer. It works on when its client closes the connection. */
export function beginWork(answer: Writable): void {
  underWork.set(answer, []);
}

/** The handler has answered, or its time is up: what the answer held is released. */
export function endWork(answer: Writable): void {
  const releases = underWork.get(answer) ?? [];
  underWork.delete(answer);
  for (const release of releases) release();
}

/**
 * Calls back once an answer is closed and no handler works on it. What a request holds counts until then: otherwise a caller
 * who sends requests and closes their connections at once would have any number of them worked on.
 */
export function onceDone(answer: Writable, release: () => void): void {
  const releaseAfterWork = () => {
    const releases = underWork.get(answer);
    if (releases) releases.push(release);
    else release();
  };
  if (answer.closed) releaseAfterWork();
  else answer.once("close", releaseAfterWork);
}
