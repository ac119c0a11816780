import { GabbroError } from "../errors.ts";

/** When the work for a request must end, on the clock of `performance.now()`. */
export interface Deadline {
  atMs: number;
  /** The work continues past the deadline, because its response is stored for a retry of the request. */
  isReadOn?: boolean;
}

interface Limited {
  deadline: Deadline;
}

/** Throws TIMED_OUT once the request's time is up. Call it between the pieces of long work. */
export function checkDeadline({ deadline }: Limited): void {
  if (performance.now() > deadline.atMs && !deadline.isReadOn) throw timedOut();
}

/** Takes the deadline off a request. */
export function disableDeadline({ deadline }: Limited): void {
  deadline.atMs = Number.POSITIVE_INFINITY;
}

/** Lets the work continue past the deadline, because its response is stored for a retry of the request. */
export function readOn({ deadline }: Limited): void {
  deadline.isReadOn = true;
}

/** The error of a request that took too long. */
export function timedOut(): GabbroError {
  const message =
    "This took too long and was given up. Ask for less at once; what it was about to store may be stored all the same: with an Idempotency-Key it can be sent again safely.";
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" } });
}
