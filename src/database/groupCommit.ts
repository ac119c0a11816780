import { setImmediate as nextTurn } from "node:timers/promises";
import DataLoader from "dataloader";
import { GabbroError } from "../errors.ts";
import { currentWorkspace, runShared, whileWaiting } from "../limits/eventLoop.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { createTurns } from "../limits/turns.ts";
import { failsWholeBatch, isLocked } from "./driverErrors.ts";
import type { Rows } from "./inserts.ts";

/** The rows of one request. */
interface Unit<DB> {
  rows: Rows<DB>;
  sinceMs: number;
  size: number;
  workspace: string;
}

const MAX_TRANSACTION_REQUESTS = 200;
/** SQLite blocks other requests while it writes a transaction: half a megabyte of words of one letter takes it 45 ms to index. */
const MAX_TRANSACTION_CHARACTERS = 512 * 1024;
/** Larger requests have transactions of their own, which are stored one after another: smaller ones do not wait for them. */
const MAX_SMALL_CHARACTERS = 16 * 1024;
/**
 * Large requests of all workspaces that are stored or next in line; at most half of them of one workspace. With 16, 64 callers
 * store logs of 20 kB at 0.79 of the rate without a limit, with 32 at 0.84 and with 64 at 0.94.
 */
const MAX_LARGE_REQUESTS = 48;
/**
 * Limits concurrent transactions: with one for each request, slow commits would use all connections, leave none for reads,
 * and hardly any requests would share a commit.
 */
const MAX_TRANSACTIONS = 4;
/**
 * Fewer requests than this wait for another turn, in which callers that the last commit answered send their next request:
 * of 64 callers 52 then share a commit, instead of 32. More requests do not wait, because their turns are long.
 */
const MIN_PENDING_REQUESTS = 64;
const MAX_WAIT_MS = 5_000;

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
    const results = await store(
      way,
      batch.map(({ rows }) => rows),
    );
    if (!results.some(isLocked)) batchSizes[batch.length]! += 1;
    return results;
  };
  const ways = { together: storeBy(insert), alone: storeBy(insertAlone) };
  const small = createLoader(ways, MAX_TRANSACTIONS, () => pending);
  const locking = createLoader(ways, 1, () => pending);
  const large = createLoader(ways, 1, () => pending);
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
  let pending = 0;
  let allSettled: PromiseWithResolvers<void> | undefined;
  const commit = async (rows: Rows<DB>): Promise<void> => {
    const size = jsonSize(rows, MAX_TRANSACTION_CHARACTERS);
    const unit = { rows, size, sinceMs: performance.now(), workspace: currentWorkspace() ?? "" };
    pending += 1;
    try {
      const storeSmall = takesLocks(rows) ? locking : small;
      await whileWaiting(() => (size > MAX_SMALL_CHARACTERS ? storeLarge(unit) : storeSmall(unit)));
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

type StoreBatch<DB> = (batch: Unit<DB>[]) => Promise<(true | Error)[]>;

/** Collects requests, and stores them in at most `maxActive` transactions at once. Each goes on when its own is committed. */
function createLoader<DB>(
  ways: { together: StoreBatch<DB>; alone: StoreBatch<DB> },
  maxActive: number,
  pending: () => number,
) {
  const turn = createTurns();
  const dispatchQueue: (() => void)[] = [];
  let active = 0;
  const storeAll = async (waiting: Waiting<DB>[]) => {
    active += 1;
    let isFirst = maxActive > 1;
    for (const batch of inTransactions(waiting)) {
      if (!isFirst) await turn("group commit"); // other requests run between two transactions
      isFirst = false;
      const locked = await settle(batch, ways.together);
      for (const [workspace, some] of Map.groupBy(locked, ({ unit }) => unit.workspace))
        void runShared(workspace, async () => {
          for (const { reject } of await settle(some, ways.alone)) reject(tooLate());
        });
    }
    active -= 1;
    dispatchQueue.shift()?.();
  };
  const loader = new DataLoader(
    async (units: readonly Unit<DB>[]) => {
      const all = units.map((unit) => ({ unit, ...Promise.withResolvers<void>() }));
      const isInTime = ({ unit }: Waiting<DB>) => performance.now() - unit.sinceMs <= MAX_WAIT_MS;
      const { inTime = [], late = [] } = Object.groupBy(all, (one) => (isInTime(one) ? "inTime" : "late"));
      for (const { reject } of late) reject(tooLate());
      void runShared("group commit", () => storeAll(inTime));
      return all.map(({ promise }) => ({ stored: promise }));
    },
    {
      cache: false,
      maxBatchSize: MAX_TRANSACTION_REQUESTS,
      batchScheduleFn: (dispatch) => {
        const dispatchSoon = () => (pending() < MIN_PENDING_REQUESTS ? setImmediate(dispatch) : dispatch());
        if (active < maxActive) setImmediate(dispatchSoon);
        else dispatchQueue.push(dispatch);
      },
    },
  );
  return async (unit: Unit<DB>): Promise<void> => (await loader.load(unit)).stored;
}

/** Stores the requests of a transaction; returns those that have to wait for a lock. */
async function settle<DB>(batch: Waiting<DB>[], storeBatch: StoreBatch<DB>): Promise<Waiting<DB>[]> {
  const results = await storeBatch(batch.map(({ unit }) => unit));
  return batch.filter(({ resolve, reject }, n) => {
    const result = results[n];
    if (isLocked(result)) return true;
    if (result instanceof Error) reject(result);
    else resolve();
    return false;
  });
}

interface Waiting<DB> extends PromiseWithResolvers<void> {
  unit: Unit<DB>;
}

/** After so long the client may have given up and retried: storing the rows now would store them twice. */
function tooLate(): GabbroError {
  const message = "The database is busy; try again in a moment.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}

/** Divides requests into transactions of limited size; a larger request has a transaction of its own. */
function* inTransactions<DB>(waiting: Waiting<DB>[]): Generator<Waiting<DB>[]> {
  let batch: Waiting<DB>[] = [];
  let size = 0;
  for (const one of waiting) {
    if (batch.length > 0 && size + one.unit.size > MAX_TRANSACTION_CHARACTERS) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(one);
    size += one.unit.size;
  }
  if (batch.length > 0) yield batch;
}

async function store<DB>(
  insert: (rows: Rows<DB>) => Promise<void>,
  units: readonly Rows<DB>[],
): Promise<(true | Error)[]> {
  try {
    await insert(units.flat());
    return units.map(() => true);
  } catch (error) {
    // If one row is refused, the others may succeed alone; an error of the database itself fails them all. Where one has to wait for
    // a lock, those of each workspace go on together.
    if (units.length === 1 || failsWholeBatch(error) || isLocked(error))
      return units.map(() => error as Error);
    const results: (true | Error)[] = [];
    for (const unit of units) {
      const locked = results.find(isLocked); // or else each of the others might wait as long
      results.push(...(locked ? [locked] : await store(insert, [unit])));
      await nextTurn(); // other requests run between two transactions
    }
    return results;
  }
}
