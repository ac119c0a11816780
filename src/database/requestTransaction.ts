import { IsolationLevel } from "@mikro-orm/core";
import { GabbroError } from "../errors.ts";
import { endsTransaction, failsWholeBatch, isUniqueViolation } from "./driverErrors.ts";
import { retryWhileLocked } from "./groupCommit.ts";
import type { Database, EntityManager } from "./open.ts";

/** The ways to the data of one request whose writes are one transaction. */
export interface Together {
  database: Database;
  em: EntityManager;
  /** Throws when all of it must be tried again, so that nobody is told of errors that are none. */
  throwFailure(): void;
}

/** What stands for transactions of their own in units of work whose writes are one transaction. */
const joins = new WeakMap<EntityManager, <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>>();

/** How transactions of this unit of work join the one of its request; undefined where each stands alone. */
export function joinOf(em: EntityManager) {
  return joins.get(em);
}

/**
 * Has all that `run` writes by the ways it is given stored in one transaction, which begins with the first write; `last`
 * then adds what belongs to it, and nothing is announced before it is committed. When nothing was written, `last` is not
 * run. What was in the way of others runs again, from the start. Reads see what was written before them.
 *
 * What only adds rows, as the most frequent requests do, needs no transaction of its own: its rows wait for the end and
 * then share a commit with those of others. What turns out to do more begins again.
 */
export function together<Result>(
  database: Database,
  workspaceId: string,
  run: (ways: Together) => Promise<Result>,
  last: (ways: Together, result: Result) => Promise<void>,
): Promise<Result> {
  const attempt = async (how: How) => {
    const unit = createUnit(database, workspaceId, how);
    try {
      const result = await run(unit.ways);
      unit.ways.throwFailure();
      if (!unit.hasBegun()) return result;
      await last(unit.ways, result);
      await unit.commit();
      return result;
    } catch (error) {
      await unit.rollback();
      unit.ways.throwFailure();
      throw error;
    }
  };
  let rows: How["rows"] = "wait";
  const tried = async (): Promise<Result> => {
    try {
      return await attempt({ rows, duplicates: "run again" });
    } catch (error) {
      rows = "are added";
      // What was added meanwhile is seen only by another transaction.
      if (isUniqueViolation(error)) return attempt({ rows, duplicates: "are told" });
      if (error instanceof NeedsTransactionError) return tried();
      throw error;
    }
  };
  return retryWhileLocked(tried);
}

interface How {
  rows: "wait" | "are added";
  duplicates: "run again" | "are told";
}

/** Nobody is told of it: what meets it begins again. */
class NeedsTransactionError extends GabbroError {
  constructor(options?: ErrorOptions) {
    super(
      "UNAVAILABLE",
      "A request that does more than to add rows needs a transaction of its own.",
      options,
    );
  }
}

function createUnit(database: Database, workspaceId: string, { rows, duplicates }: How) {
  const em = database.fork(workspaceId);
  const afterCommit: (() => void)[] = [];
  const waiting: NewRows = [];
  let transaction: EntityManager | undefined;
  let beginning: Promise<void> | undefined;
  let failure: unknown;
  const needTransaction = (): never => {
    failure ??= new NeedsTransactionError();
    throw failure;
  };
  const begin = async () => {
    transaction = database.fork(workspaceId);
    await transaction.begin({ isolationLevel: IsolationLevel.SERIALIZABLE });
    em.setTransactionContext(transaction.getTransactionContext());
  };
  const join = async <T>(work: (em: EntityManager) => Promise<T>): Promise<T> => {
    try {
      if (waiting.length > 0) needTransaction();
      beginning ??= begin();
      await beginning;
      return await em.fork({ keepTransactionContext: true }).transactional(work);
    } catch (error) {
      // GraphQL answers with the error of a field and goes on, but this transaction cannot.
      if (endsTransaction(error) || (duplicates === "run again" && isUniqueViolation(error)))
        failure ??= error;
      throw error;
    }
  };
  const add = async (some: NewRows): Promise<void> => {
    if (rows === "are added" || beginning) return join((nested) => database.insertWithin(nested, some));
    // No read may miss what waits: whatever uses this connection ends the attempt.
    if (waiting.length === 0) em.setTransactionContext(new Proxy({}, { get: needTransaction }) as never);
    waiting.push(...some);
  };
  joins.set(em, join);
  return {
    ways: {
      em,
      database: joined(database, em, { add, afterCommit }),
      throwFailure: () => {
        if (failure) throw failure;
      },
    },
    hasBegun: () => beginning !== undefined || waiting.length > 0,
    commit: async () => {
      if (waiting.length > 0) await commitWaiting(database, waiting);
      else await transaction!.commit();
      for (const tell of afterCommit) tell();
    },
    rollback: async () => {
      em.resetTransactionContext();
      // It did not begin, or its connection is lost and with it all that it wrote.
      if (transaction?.isInTransaction()) await transaction.rollback().catch(() => {});
    },
  };
}

async function commitWaiting(database: Database, rows: NewRows): Promise<void> {
  try {
    await database.commit(rows);
  } catch (cause) {
    // Who added the rows may know what to say of a refusal, and only hears of it in a transaction.
    if (failsWholeBatch(cause) || isUniqueViolation(cause)) throw cause;
    throw new NeedsTransactionError({ cause });
  }
}

type NewRows = Parameters<Database["commit"]>[0];

/** The database as the transaction sees it, once that has begun. */
function joined(
  database: Database,
  em: EntityManager,
  { add, afterCommit }: { add: (rows: NewRows) => Promise<void>; afterCommit: (() => void)[] },
): Database {
  const { pubSub } = database;
  return {
    ...database,
    get read() {
      return em.isInTransaction() ? database.readWithin(em) : database.read;
    },
    get write(): never {
      throw new Error(
        "In a transaction that others join, nothing may be written beside it: use inTransaction.",
      );
    },
    putInBulk: () => {
      throw new Error(
        "In a transaction that others join, nothing may be written beside it: use inTransaction.",
      );
    },
    rows: async (query) =>
      em.isInTransaction() ? (await em.getKysely().executeQuery(query.compile())).rows : database.rows(query),
    commit: Object.assign(add, { ...database.commit }),
    // What is cached for all must not depend on what only this transaction sees.
    generation: {
      ...database.generation,
      now: () => (em.isInTransaction() ? null : database.generation.now()),
    },
    pubSub: {
      ...pubSub,
      announce: (...told) => void afterCommit.push(() => pubSub.announce(...told)),
    },
  };
}
