import { GabbroError } from "../errors.ts";

/** When the work for a request must end, on the clock of `performance.now()`. */
export interface Deadline {
  atMs: number;
  /** The work continues past the deadline, because its response is stored for a retry of the request. */
  isReadOn?: boolean;
  /** The error of all work that is late. */
  error?: GabbroError;
}

interface Limited {
  deadline: Deadline;
}

/** Throws TIMED_OUT once the request's time is up. Call it between chunks of long work. */
export function checkDeadline({ deadline }: Limited): void {
  if (performance.now() <= deadline.atMs || deadline.isReadOn) return;
  deadline.error ??= timedOut();
  throw deadline.error;
}

const ENDED = Number.NEGATIVE_INFINITY;

/** Removes the deadline of a request. */
export function disableDeadline({ deadline }: Limited): void {
  deadline.atMs = Number.POSITIVE_INFINITY;
}

/** Runs work that has no deadline; what follows in its request has the time that was left. */
export async function withoutDeadline<Result>(
  limited: Limited,
  work: () => Promise<Result>,
): Promise<Result> {
  const { deadline } = limited;
  const leftMs = deadline.atMs - performance.now();
  disableDeadline(limited);
  try {
    return await work();
  } finally {
    if (deadline.atMs !== ENDED) deadline.atMs = performance.now() + leftMs;
  }
}

/** Ends what still works for a request that has been answered, at its next check. */
export function endDeadline({ deadline }: Limited): void {
  deadline.atMs = ENDED;
}

/** Throws TIMED_OUT once a request is answered or its client has left, also where its response would be stored for a retry. */
export function checkIsWaitedFor({ deadline }: Limited): void {
  if (deadline.atMs !== ENDED) return;
  deadline.error ??= timedOut();
  throw deadline.error;
}

/** Lets the work continue past the deadline, because its response is stored for a retry of the request. */
export function readOn({ deadline }: Limited): void {
  deadline.isReadOn = true;
}

/** The error of a request that took too long. */
export function timedOut(): GabbroError {
  const message =
    "This request took too long and was aborted. Ask for less at once. Its writes may be stored all the same: with an Idempotency-Key it can safely be sent again.";
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" } });
}
