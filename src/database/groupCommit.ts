import { setImmediate as nextTurn } from "node:timers/promises";
import { currentWorkspace, whileWaiting } from "../limits/eventLoop.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { createResultTurns } from "../limits/results.ts";
import {
  APART,
  createLanes,
  goesOn,
  MAX_TRANSACTION_BYTES,
  MAX_TRANSACTION_REQUESTS,
  MAX_WAIT_MS,
  type Stored,
  type Unit,
} from "./commitLanes.ts";
import { failsWholeBatch, isLocked } from "./driverErrors.ts";
import type { Rows } from "./inserts.ts";

/** Larger requests have transactions of their own, one at a time in each workspace: smaller ones do not wait for them. */
const MAX_SMALL_BYTES = 16 * 1024;
/**
 * Large requests of all workspaces that are stored or next in line; at most half of them of one workspace. With 16, 64 callers
 * store logs of 20 kB at 0.79 of the rate without a limit, with 32 at 0.84 and with 64 at 0.94.
 */
const MAX_LARGE_REQUESTS = 48;
/**
 * Limits concurrent transactions: with one for each request, slow commits would use all connections, leave none for reads,
 * and hardly any requests would share a commit. Another workspace finds a place beside the four of one.
 */
const TRANSACTIONS = { name: "small commits", places: 6, share: 4 };
/**
 * The transactions of a workspace that are stored one after another, beside those of one other workspace. With one place for
 * all, others waited 0.4 to 0.9 s for a log that PostgreSQL takes so long to index, or while 200 rows were refused one by one.
 */
const ONE_BY_ONE = { places: 2, share: 1 };

interface Store<DB> {
  insert(rows: Rows<DB>): Promise<void>;
  insertAlone(rows: Rows<DB>): Promise<void>;
  /** Whether such rows lock others until their commit, so that one transaction of them after another waits for none. */
  takesLocks?(rows: Rows<DB>): boolean;
}

/**
 * Group commit: requests that arrive while a few transactions are active share the next one, and their promises settle after
 * its commit. One flush to disk then serves many requests. A request that the database refuses fails alone.
 *
 * Where a row has to wait for a lock, `insert` throws, and the requests of the transaction go on with `insertAlone`, those of each
 * workspace in a transaction that waits with a connection of that workspace. While four callers' rows waited for their own
 * locks, others waited for 0.7 to 0.9 s, and their logs for up to 5 s.
 */
export function createCommit<DB>({ insert, insertAlone, takesLocks = () => false }: Store<DB>) {
  const batchSizes = new Float64Array(MAX_TRANSACTION_REQUESTS + 1);
  const storeBy = (way: Store<DB>["insert"]) => async (batch: Unit<DB>[]) => {
    const results = await store(way, batch);
    if (!results.some(goesOn)) batchSizes[batch.length]! += 1;
    return results;
  };
  const ways = { together: storeBy(insert), alone: storeBy(insertAlone) };
  const small = createLanes(ways, TRANSACTIONS, () => pending);
  const locking = createLanes(ways, { name: "locking commits", ...ONE_BY_ONE }, () => pending);
  const large = createLanes(ways, { name: "large commits", ...ONE_BY_ONE }, () => pending);
  const places = createFairQueue({
    ...{ places: MAX_LARGE_REQUESTS, maxWaiting: 500, maxWaitMs: MAX_WAIT_MS },
    busy: "Too many large requests are being stored; try again in a moment.",
  });
  const storeLarge = async (unit: Unit<DB>) => {
    const release = await places.acquire(currentWorkspace() ?? "");
    try {
      await large(unit);
    } finally {
      release();
    }
  };
  const goOn = createResultTurns("together");
  let pending = 0;
  let allSettled: PromiseWithResolvers<void> | undefined;
  const commit = async (rows: Rows<DB>): Promise<void> => {
    const size = jsonSize(rows, MAX_TRANSACTION_BYTES, { lengthOf: Buffer.byteLength });
    const unit = { rows, size, sinceMs: performance.now(), workspace: currentWorkspace() ?? "" };
    pending += 1;
    try {
      const storeSmall = takesLocks(rows) ? locking : small;
      await whileWaiting(async () => {
        await (size > MAX_SMALL_BYTES ? storeLarge(unit) : storeSmall(unit));
        await goOn(); // a commit is that of up to 200 requests, whose answers took 0.7 s in one turn
      });
    } finally {
      pending -= 1;
      if (pending === 0) {
        allSettled?.resolve();
        allSettled = undefined;
      }
    }
  };
  return Object.assign(commit, {
    /** How many requests wait for their commit. */
    waiting: () => pending,
    /** The number of batches by their number of requests. */
    batchSizes,
    /** Resolves when no request waits for its commit. */
    settled: async () => {
      while (pending > 0) {
        allSettled ??= Promise.withResolvers();
        await allSettled.promise;
      }
    },
  });
}

async function store<DB>(insert: (rows: Rows<DB>) => Promise<void>, units: Unit<DB>[]): Promise<Stored[]> {
  try {
    await insert(units.flatMap(({ rows }) => rows));
    return units.map(() => true);
  } catch (error) {
    // An error of the database itself fails them all. Where one has to wait for a lock, those of each workspace go on together.
    if (units.length === 1 || failsWholeBatch(error) || isLocked(error))
      return units.map(() => error as Error);
    if (units.some(({ workspace }) => workspace !== units[0]!.workspace)) return units.map(() => APART);
    // If one row is refused, the others may succeed alone.
    const results: Stored[] = [];
    for (const unit of units) {
      const locked = results.find(isLocked); // or else each of the others might wait as long
      results.push(...(locked ? [locked] : await store(insert, [unit])));
      await nextTurn(); // other requests run between two transactions
    }
    return results;
  }
}
