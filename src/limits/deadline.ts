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

interface LongRunning extends Limited {
  database: { longWork: AbortController; track(work: Promise<unknown>): void };
}

/**
 * Runs work that has no deadline; what follows in its request has the time that was left. The work ends by itself once
 * `longWork` is aborted, and the database stays open until then. Throws UNAVAILABLE when the service stops meanwhile.
 */
export async function withoutDeadline<Result>(
  request: LongRunning,
  work: () => Promise<Result>,
): Promise<Result> {
  const { deadline, database } = request;
  const leftMs = deadline.atMs - performance.now();
  disableDeadline(request);
  try {
    const working = work();
    database.track(working.catch(() => {})); // it is thrown below
    const result = await working;
    if (database.longWork.signal.aborted) throw interrupted();
    return result;
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

function interrupted(): GabbroError {
  const message =
    "The service stops, and this work with it. What it has done until now is kept, and the audit log tells how much: send it again for the rest.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}

/** The error of a request that took too long. */
export function timedOut(): GabbroError {
  const message =
    "This request took too long and was aborted. Ask for less at once. Its writes may be stored all the same: with an Idempotency-Key it can safely be sent again.";
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" } });
}
