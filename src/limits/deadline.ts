import { GabbroError } from "../errors.ts";

/** Until when the work for a request may go on, on the clock of `performance.now()`. */
export interface Deadline {
  atMs: number;
  /** Whether what was begun is worth its end, also when nobody waits for it any more. */
  isReadOn?: boolean;
}

interface Limited {
  deadline: Deadline;
}

/** Ends what nobody waits for any more; called between the pieces of what may take long. Throws TIMED_OUT. */
export function checkDeadline({ deadline }: Limited): void {
  if (performance.now() > deadline.atMs && !deadline.isReadOn) throw timedOut();
}

/** Lets the work for a request take as long as it takes. */
export function disableDeadline({ deadline }: Limited): void {
  deadline.atMs = Number.POSITIVE_INFINITY;
}

/** Has everything read for a request whose answer is kept: it may be late for this caller, but whoever asks again gets it. */
export function readOn({ deadline }: Limited): void {
  deadline.isReadOn = true;
}

/** What the caller is told whose request took too long. */
export function timedOut(): GabbroError {
  const message =
    "This took too long and was given up. Ask for less at once; what it was about to store may be stored all the same: with an Idempotency-Key it can be sent again safely.";
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" } });
}
