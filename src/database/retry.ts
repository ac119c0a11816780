import { setTimeout as wait } from "node:timers/promises";
import { GabbroError } from "../errors.ts";
import { isLocked, isUniqueViolation, unavailable } from "./driverErrors.ts";

const MAX_WAIT_MS = 5_000;
const RETRY_MS = 20;

/** Runs `write`, and retries it while a concurrent transaction blocks it; throws UNAVAILABLE after MAX_WAIT_MS. */
export const retryWhileLocked = <T>(write: () => Promise<T>) => retryWhile(isLocked, write);

/** Runs `write`, and retries it while `isConflict` returns true for its error; throws UNAVAILABLE after MAX_WAIT_MS. */
export async function retryWhile<T>(
  isConflict: (error: unknown) => boolean,
  write: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (performance.now() > deadline) throw unavailable(error) ?? error;
    }
    await wait(RETRY_MS * (1 + Math.random()));
  }
}

/** Runs `write`, and throws CONFLICT with `message` when the database refuses a duplicate. */
export async function refuseDuplicates<T>(message: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isUniqueViolation(error) ? new GabbroError("CONFLICT", message, { cause: error }) : error;
  }
}
