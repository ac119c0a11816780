import type { Writable } from "node:stream";

/** What is released when the work on an answer ends: on the answer, as a WeakMap takes 5 % more for each small request. */
const RELEASES = Symbol("releases");

interface Answer extends Writable {
  [RELEASES]?: (() => void)[] | undefined;
}

/** A handler begins to work on an answer. It works on when its client closes the connection. */
export function beginWork(answer: Answer): void {
  answer[RELEASES] = [];
}

/** The handler has answered, or its time is up: what the answer held is released. */
export function endWork(answer: Answer): void {
  const releases = answer[RELEASES];
  answer[RELEASES] = undefined;
  for (const release of releases ?? []) release();
}

/**
 * Calls back once an answer is closed and no handler works on it. What a request holds counts until then: otherwise a caller
 * who sends requests and closes their connections at once would have any number of them worked on.
 */
export function onceDone(answer: Answer, release: () => void): void {
  const releaseAfterWork = () => {
    const releases = answer[RELEASES];
    if (releases) releases.push(release);
    else release();
  };
  if (answer.closed) releaseAfterWork();
  else answer.once("close", releaseAfterWork);
}
