import type { Writable } from "node:stream";

/** On the answer, as a WeakMap takes 5 % more for each small request. */
const WORK = Symbol("work");

interface Work {
  isUnderWay: boolean;
  isOver: boolean;
  isClosed: boolean;
  /** What the answer holds. */
  releases: (() => void)[];
}

interface Answer extends Writable {
  [WORK]?: Work;
}

/**
 * A handler begins to work on an answer. It works on when its client closes the connection. After the answer, as for a body that is
 * complete only then, nothing would end that work, and none begins.
 */
export function beginWork(answer: Answer): void {
  const work = workOn(answer);
  work.isUnderWay = !work.isOver;
}

/** The handler has answered, or its time is up: what the answer held is released once it is closed. */
export function endWork(answer: Answer): void {
  const work = workOn(answer);
  work.isUnderWay = false;
  work.isOver = true;
  releaseIfDone(work);
}

/**
 * Calls back once an answer is closed and no handler works on it. What a request holds counts until then: otherwise a caller
 * who sends requests and closes their connections at once would have any number of them worked on.
 */
export function onceDone(answer: Answer, release: () => void): void {
  const work = workOn(answer);
  work.releases.push(release);
  releaseIfDone(work);
}

/** One listener for all that an answer holds: Node.js warns of more than ten. */
function workOn(answer: Answer): Work {
  if (answer[WORK]) return answer[WORK];
  const work: Work = { isUnderWay: false, isOver: false, isClosed: answer.closed, releases: [] };
  answer[WORK] = work;
  answer.once("close", () => {
    work.isClosed = true;
    releaseIfDone(work);
  });
  return work;
}

function releaseIfDone(work: Work): void {
  if (work.isUnderWay || !work.isClosed) return;
  const { releases } = work;
  work.releases = [];
  for (const release of releases) release();
}
