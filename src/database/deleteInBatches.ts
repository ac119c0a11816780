import { setImmediate } from "node:timers/promises";
import { piecesOf } from "./pieces.ts";

/** Starts small: deleting a hundred rows of 9 MB takes SQLite half a second. */
const FIRST_BATCH_ROWS = 5;
const MAX_BATCH_ROWS = 500;
/** Target duration of a step: while SQLite deletes rows, which may have a megabyte each, no other request runs. */
const STEP_MS = 10;

/**
 * Bytes of rows that one statement deletes, unless a single row is larger: the steps before say nothing of the next rows, of
 * which SQLite deletes 9.5 MB in 3 ms.
 */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** Before every other id. */
export const FIRST_ID = "00000000-0000-0000-0000-000000000000";

interface Step {
  /**
   * Up to `maxRows` next rows to delete, with their lengths where they may be long; if they are ordered by id, those after
   * the id `after`.
   */
  find(maxRows: number, after: string): Promise<{ id: string; bytes?: number }[]>;
  remove(ids: string[]): Promise<unknown>;
}

/**
 * Deletes rows in small steps, so that other requests run in between, until there are none or `signal` aborts. Returns the
 * number of deleted rows.
 */
export async function deleteInBatches({ find, remove }: Step, signal?: AbortSignal): Promise<number> {
  let removed = 0;
  let after = FIRST_ID;
  await inSteps(async (maxRows) => {
    const rows = firstToDelete(await find(maxRows, after), ({ bytes = 0 }) => Number(bytes));
    const ids = rows.map(({ id }) => id);
    if (ids.length === 0) return null;
    const startMs = performance.now();
    await remove(ids);
    const tookMs = performance.now() - startMs;
    removed += ids.length;
    after = ids.at(-1)!;
    return tookMs;
  }, signal);
  return removed;
}

/** The first of some rows that one statement may delete. */
export function firstToDelete<Row>(rows: Row[], bytesOf: (row: Row) => number): Row[] {
  const [first] = piecesOf(rows, bytesOf, MAX_BATCH_BYTES);
  return first?.piece ?? [];
}

/**
 * Runs steps until one returns null or `signal` aborts, with other requests in between. A step works on up to `maxRows` rows
 * and returns the milliseconds that depend on their number.
 */
export async function inSteps(
  step: (maxRows: number) => Promise<number | null>,
  signal?: AbortSignal,
  mostRows = MAX_BATCH_ROWS,
): Promise<void> {
  let maxRows = FIRST_BATCH_ROWS;
  while (!signal?.aborted) {
    const tookMs = await step(maxRows);
    if (tookMs === null) break;
    if (tookMs > STEP_MS) maxRows = Math.ceil(maxRows / 2);
    else if (tookMs < STEP_MS / 2) maxRows = Math.min(mostRows, maxRows * 2);
    await setImmediate();
  }
}
