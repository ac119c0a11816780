import { setImmediate } from "node:timers/promises";

/** One hundred rows of 9 MB take SQLite half a second. */
const FIRST_AT_ONCE = 5;
const MOST_AT_ONCE = 500;
/** Rows may be of a megabyte each, and while SQLite removes some nobody else is served: fewer are when it took longer. */
const STEP_MS = 10;

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

interface Step {
  /** The next rows to remove, up to `most`, after that id where their order is that of their ids. */
  find(most: number, after: string): Promise<{ id: string }[]>;
  remove(ids: string[]): Promise<unknown>;
}

/**
 * Removes rows in small steps, with others served in between, until there are none or `signal` says to stop. Gives how many
 * it removed.
 */
export async function deleteInBatches({ find, remove }: Step, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  let after = FIRST_ID;
  let most = FIRST_AT_ONCE;
  while (!signal?.aborted) {
    const ids = (await find(most, after)).map(({ id }) => id);
    if (ids.length === 0) break;
    const begun = performance.now();
    await remove(ids);
    const tookMs = performance.now() - begun;
    removed += ids.length;
    after = ids.at(-1)!;
    if (tookMs > STEP_MS) most = Math.ceil(most / 2);
    else if (tookMs < STEP_MS / 2) most = Math.min(MOST_AT_ONCE, most * 2);
    await setImmediate();
  }
  return removed;
}
