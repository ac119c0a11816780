import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import DataLoader from "dataloader";
import type { Insertable, Kysely, Transaction } from "kysely";
import { GabbroError } from "../errors.ts";
import { runShared, whileWaiting } from "../limits/eventLoop.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { failsWholeBatch, isLocked, isUniqueViolation, unavailable } from "./driverErrors.ts";
import type { createEncoder } from "./encode.ts";
import type { Insert, InsertAlong } from "./inserts.ts";
import { refuseDeleted } from "./softDelete.ts";

/** Rows by the name of their entity, parents first: all of them are stored, or none. */
export type Rows<DB> = { [Entity in keyof DB & string]: [Entity, Insertable<DB[Entity]>] }[keyof DB &
  string][];

/** What one request stores, and when it came. */
interface Unit<DB> {
  rows: Rows<DB>;
  sinceMs: number;
  size: number;
}

type Encoder = ReturnType<typeof createEncoder>;

const MOST_IN_ONE_TRANSACTION = 200;
/** SQLite writes a transaction in one go, while nobody else is served: a few large requests would take a second together. */
const MAX_TRANSACTION_CHARACTERS = 4 * 1024 * 1024;
/**
 * At once. With one for each request that comes, and a commit that takes long, they would take every connection from those
 * who read, and hardly any would share one. On PostgreSQL all of them may wait for a lock, as for rows of a dataset that
 * another program deletes with a million of them, and the rest with them: what waits for longer than PATIENCE_MS is given up.
 */
const MOST_TRANSACTIONS = 4;
/** SQLite takes 32,766 values in a statement, PostgreSQL twice as many. */
const MOST_VALUES = 30_000;
/**
 * Fewer wait another turn, in which those that the commit before answered have sent again: of 64 callers 52 share one, and
 * 32 without that turn. Where more wait, turns are long.
 */
const ENOUGH = 64;
const PATIENCE_MS = 5_000;
const RETRY_MS = 20;

/**
 * Group commit: what arrives while a few transactions are under way shares the next, and its promise settles after that
 * commit. One flush to disk then serves many requests, and a request that the database refuses fails alone.
 */
export function createCommit<DB>(insert: (rows: Rows<DB>) => Promise<void>) {
  const batchSizes = new Float64Array(MOST_IN_ONE_TRANSACTION + 1);
  const delayed: (() => void)[] = [];
  let underWay = 0;
  const storeAll = async (units: readonly Unit<DB>[]) => {
    underWay += 1;
    try {
      const now = performance.now();
      const inTime = units.filter(({ sinceMs }) => now - sinceMs <= PATIENCE_MS);
      const outcomes = new Map<Unit<DB>, true | Error>();
      for (const some of inTransactions(inTime)) {
        if (outcomes.size > 0) await nextTurn(); // others are served between two large transactions
        batchSizes[some.length]! += 1;
        const rows = some.map((unit) => unit.rows);
        const stored = await store(insert, rows);
        for (const [n, unit] of some.entries()) outcomes.set(unit, stored[n]!);
      }
      return units.map((unit) => outcomes.get(unit) ?? tooLate());
    } finally {
      underWay -= 1;
      delayed.shift()?.();
    }
  };
  const loader = new DataLoader(
    (units: readonly Unit<DB>[]) => runShared("group commit", () => storeAll(units)),
    {
      cache: false,
      maxBatchSize: MOST_IN_ONE_TRANSACTION,
      batchScheduleFn: (dispatch) => {
        const soon = () => (pending < ENOUGH ? setImmediate(dispatch) : dispatch());
        if (underWay < MOST_TRANSACTIONS) setImmediate(soon);
        else delayed.push(dispatch);
      },
    },
  );
  let pending = 0;
  let idle: PromiseWithResolvers<void> | undefined;
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
        idle?.resolve();
        idle = undefined;
      }
    }
  };
  return Object.assign(commit, {
    /** How many requests wait for their commit. */
    waiting: () => pending,
    /** How many batches had so many requests. */
    batchSizes,
    /** Resolves when nothing is waiting to be committed. */
    settled: async () => {
      while (pending > 0) {
        idle ??= Promise.withResolvers();
        await idle.promise;
      }
    },
  });
}

/** Who has waited for so long may have gone, and would send again what is stored after all. */
function tooLate(): GabbroError {
  const message = "The database is busy with what came before; try again in a moment.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}

/** As many requests at a time as a transaction may write; a larger one has a transaction of its own. */
function* inTransactions<DB>(units: Unit<DB>[]): Generator<Unit<DB>[]> {
  let some: Unit<DB>[] = [];
  let size = 0;
  for (const unit of units) {
    if (some.length > 0 && size + unit.size > MAX_TRANSACTION_CHARACTERS) {
      yield some;
      some = [];
      size = 0;
    }
    some.push(unit);
    size += unit.size;
  }
  if (some.length > 0) yield some;
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

/** Inserts in a transaction all rows of an entity with one statement, or a few. */
export function createInsert<DB>(encode: Encoder, insertAlong: InsertAlong) {
  return async (transaction: Transaction<DB>, rows: Rows<DB>): Promise<void> => {
    for (const [entity, group] of Map.groupBy(rows, ([name]) => name)) {
      const plain = group.map(([, row]) => row as Record<string, unknown>);
      for (const some of inStatements(plain.map(encode(entity))))
        await transaction
          .insertInto(entity)
          .values(some as never)
          .execute();
      await refuseDeleted(transaction as never, entity, plain);
      await insertAlong(transaction as never, entity, plain);
    }
  };
}

/** Inserts in a transaction of its own. */
export function insertTogether<DB>(
  database: Kysely<DB>,
  insert: (transaction: Transaction<DB>, rows: Rows<DB>) => Promise<void>,
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
    return [...alike.values()].map((some) => {
      const fields = Object.keys(some[0]!);
      return {
        ...{ entity, fields },
        statement: sqlOf(entity, fields),
        rows: some.map((row) => Object.values(row)),
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
  const most = Math.floor(MOST_VALUES / columns);
  for (let from = 0; from < rows.length; from += most) yield rows.slice(from, from + most);
}

/** Runs `write`, again while another one is in its way; gives up as UNAVAILABLE. */
export async function retryWhileLocked<T>(write: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
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

/** Lets the database refuse what exists already, and says so as a CONFLICT with that sentence. */
export async function refuseDuplicates<T>(message: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isUniqueViolation(error) ? new GabbroError("CONFLICT", message, { cause: error }) : error;
  }
}
