import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import DataLoader from "dataloader";
import type { Insertable, Kysely } from "kysely";
import { GabbroError } from "../errors.ts";
import { runShared, whileWaiting } from "../limits/eventLoop.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { failsWholeBatch, isLocked, isUniqueViolation, unavailable } from "./driverErrors.ts";
import type { createEncoder } from "./encode.ts";
import type { Insert, InsertAlong } from "./inserts.ts";
import { refuseDeleted } from "./softDelete.ts";

/** Rows with the names of their entities, parents first: all of them are stored, or none. */
export type Rows<DB> = { [Entity in keyof DB & string]: [Entity, Insertable<DB[Entity]>] }[keyof DB &
  string][];

/** The rows of one request. */
interface Unit<DB> {
  rows: Rows<DB>;
  sinceMs: number;
  size: number;
}

type Encoder = ReturnType<typeof createEncoder>;

const MAX_TRANSACTION_REQUESTS = 200;
/** SQLite blocks other requests while it writes a transaction: a few large requests together would take a second. */
const MAX_TRANSACTION_CHARACTERS = 4 * 1024 * 1024;
/**
 * Limits concurrent transactions: with one for each request, slow commits would use all connections, leave none for reads,
 * and hardly any requests would share a commit. On PostgreSQL all of them may wait for one lock, for example while
 * another program deletes a dataset with a million rows; requests that wait for longer than MAX_WAIT_MS then fail.
 */
const MAX_TRANSACTIONS = 4;
/** SQLite takes 32,766 values in a statement, PostgreSQL twice as many. */
const MAX_STATEMENT_VALUES = 30_000;
/**
 * Fewer requests than this wait for another turn, in which callers that the last commit answered send their next request:
 * of 64 callers 52 then share a commit, instead of 32. More requests do not wait, because their turns are long.
 */
const MIN_PENDING_REQUESTS = 64;
const MAX_WAIT_MS = 5_000;
const RETRY_MS = 20;

/**
 * Group commit: requests that arrive while a few transactions are active share the next one, and their promises settle after
 * its commit. One flush to disk then serves many requests. A request that the database refuses fails alone.
 */
export function createCommit<DB>(insert: (rows: Rows<DB>) => Promise<void>) {
  const batchSizes = new Float64Array(MAX_TRANSACTION_REQUESTS + 1);
  const dispatchQueue: (() => void)[] = [];
  let active = 0;
  const storeAll = async (units: readonly Unit<DB>[]) => {
    active += 1;
    try {
      const now = performance.now();
      const inTime = units.filter(({ sinceMs }) => now - sinceMs <= MAX_WAIT_MS);
      const outcomes = new Map<Unit<DB>, true | Error>();
      for (const batch of inTransactions(inTime)) {
        if (outcomes.size > 0) await nextTurn(); // other requests run between two large transactions
        batchSizes[batch.length]! += 1;
        const rows = batch.map((unit) => unit.rows);
        const results = await store(insert, rows);
        for (const [n, unit] of batch.entries()) outcomes.set(unit, results[n]!);
      }
      return units.map((unit) => outcomes.get(unit) ?? tooLate());
    } finally {
      active -= 1;
      dispatchQueue.shift()?.();
    }
  };
  const loader = new DataLoader(
    (units: readonly Unit<DB>[]) => runShared("group commit", () => storeAll(units)),
    {
      cache: false,
      maxBatchSize: MAX_TRANSACTION_REQUESTS,
      batchScheduleFn: (dispatch) => {
        const dispatchSoon = () => (pending < MIN_PENDING_REQUESTS ? setImmediate(dispatch) : dispatch());
        if (active < MAX_TRANSACTIONS) setImmediate(dispatchSoon);
        else dispatchQueue.push(dispatch);
      },
    },
  );
  let pending = 0;
  let allSettled: PromiseWithResolvers<void> | undefined;
  const commit = async (rows: Rows<DB>): Promise<void> => {
    const store = () =>
      loader.load({
        rows,
        sinceMs: performance.now(),
        size: jsonSize(rows, MAX_TRANSACTION_CHARACTERS),
      });
    pending += 1;
    try {
      await whileWaiting(store);
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

/** After so long the client may have given up and retried: storing the rows now would store them twice. */
function tooLate(): GabbroError {
  const message = "The database is busy; try again in a moment.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}

/** Divides requests into transactions of limited size; a larger request has a transaction of its own. */
function* inTransactions<DB>(units: Unit<DB>[]): Generator<Unit<DB>[]> {
  let batch: Unit<DB>[] = [];
  let size = 0;
  for (const unit of units) {
    if (batch.length > 0 && size + unit.size > MAX_TRANSACTION_CHARACTERS) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(unit);
    size += unit.size;
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
    // If one row is refused, the others may succeed alone; an error of the database itself fails them all.
    if (units.length === 1 || failsWholeBatch(error)) return units.map(() => error as Error);
    const results: (true | Error)[] = [];
    for (const unit of units) results.push(...(await store(insert, [unit])));
    return results;
  }
}

/** Inserts rows in a transaction, those of each entity with one statement or a few. */
export function createInsert<DB>(encode: Encoder, insertAlong: InsertAlong) {
  return async (transaction: Kysely<DB>, rows: Rows<DB>): Promise<void> => {
    for (const [entity, group] of Map.groupBy(rows, ([name]) => name)) {
      const plain = group.map(([, row]) => row as Record<string, unknown>);
      for (const chunk of inStatements(plain.map(encode(entity))))
        await transaction
          .insertInto(entity)
          .values(chunk as never)
          .execute();
      await refuseDeleted(transaction, entity, plain);
      await insertAlong(transaction, entity, plain);
    }
  };
}

/** Inserts in a transaction of its own. */
export function insertTogether<DB>(
  database: Kysely<DB>,
  insert: (transaction: Kysely<DB>, rows: Rows<DB>) => Promise<void>,
) {
  return (rows: Rows<DB>): Promise<void> =>
    retryWhileLocked(() => database.transaction().execute((transaction) => insert(transaction, rows)));
}

/** Inserts row by row with statements that are prepared once. */
export function insertOneByOne<DB>(
  encode: Encoder,
  sqlOf: (entity: string, fields: string[]) => string,
  run: (inserts: Insert[]) => Promise<void>,
) {
  const toInserts = ([entity, group]: [string, Rows<DB>]): Insert[] => {
    const encodeRow = encode(entity);
    const rows = group.map(([, row]) => encodeRow(row as Record<string, unknown>));
    const alike = Map.groupBy(rows, (row) => Object.keys(row).join());
    return [...alike.values()].map((group) => {
      const fields = Object.keys(group[0]!);
      return {
        ...{ entity, fields },
        statement: sqlOf(entity, fields),
        rows: group.map((row) => Object.values(row)),
      };
    });
  };
  return (rows: Rows<DB>): Promise<void> => {
    const inserts = [...Map.groupBy(rows, ([name]) => name as string)].flatMap(toInserts);
    return retryWhileLocked(() => run(inserts));
  };
}

function* inStatements(rows: Record<string, unknown>[]) {
  const columns = Math.max(...rows.map((row) => Object.keys(row).length));
  const maxRows = Math.floor(MAX_STATEMENT_VALUES / columns);
  for (let from = 0; from < rows.length; from += maxRows) yield rows.slice(from, from + maxRows);
}

/** Runs `write`, and retries it while a concurrent transaction blocks it; throws UNAVAILABLE after MAX_WAIT_MS. */
export async function retryWhileLocked<T>(write: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (performance.now() > deadline) throw unavailable(error);
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
