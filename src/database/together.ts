import { IsolationLevel } from "@mikro-orm/core";
import { endsTransaction, isUniqueViolation } from "./codes.ts";
import { whenUnlocked } from "./commit.ts";
import type { Database, EntityManager } from "./open.ts";

/** The ways to the data of one request whose writes are one transaction. */
export interface Together {
  database: Database;
  em: EntityManager;
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
 */
export function together<Result>(
  database: Database,
  workspaceId: string,
  run: (ways: Together) => Promise<Result>,
  last: (ways: Together, result: Result) => Promise<void>,
): Promise<Result> {
  const attempt = async (duplicates: "run again" | "are told") => {
    const unit = createUnit(database, workspaceId, duplicates);
    try {
      const result = await run(unit.ways);
      unit.throwFailure();
      if (!unit.hasBegun()) return result;
      await last(unit.ways, result);
      await unit.commit();
      return result;
    } catch (error) {
      await unit.rollback();
      unit.throwFailure();
      throw error;
    }
  };
  return whenUnlocked(async () => {
    try {
      return await attempt("run again");
    } catch (error) {
      // What was added meanwhile is seen only by another transaction.
      if (isUniqueViolation(error)) return attempt("are told");
      throw error;
    }
  });
}

function createUnit(database: Database, workspaceId: string, duplicates: "run again" | "are told") {
  const transaction = database.fork(workspaceId);
  const em = database.fork(workspaceId);
  const afterCommit: (() => void)[] = [];
  let beginning: Promise<void> | undefined;
  let failure: unknown;
  const begin = async () => {
    await transaction.begin({ isolationLevel: IsolationLevel.SERIALIZABLE });
    em.setTransactionContext(transaction.getTransactionContext());
  };
  const join = async <T>(work: (em: EntityManager) => Promise<T>): Promise<T> => {
    try {
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
  joins.set(em, join);
  return {
    ways: { em, database: joined(database, em, { join, afterCommit }) },
    hasBegun: () => beginning !== undefined,
    throwFailure: () => {
      if (failure) throw failure;
    },
    commit: async () => {
      await transaction.commit();
      for (const tell of afterCommit) tell();
    },
    rollback: async () => {
      em.resetTransactionContext();
      // It did not begin, or its connection is lost and with it all that it wrote.
      if (transaction.isInTransaction()) await transaction.rollback().catch(() => {});
    },
  };
}

type Join = <T>(work: (em: EntityManager) => Promise<T>) => Promise<T>;

/** The database as the transaction sees it, once that has begun. */
function joined(
  database: Database,
  em: EntityManager,
  { join, afterCommit }: { join: Join; afterCommit: (() => void)[] },
): Database {
  const { announcements } = database;
  const commit: (...args: Parameters<Database["commit"]>) => Promise<void> = (rows) =>
    join((nested) => database.insertWithin(nested, rows));
  return {
    ...database,
    get read() {
      return em.isInTransaction() ? database.readWithin(em) : database.read;
    },
    get write(): never {
      throw new Error("In a transaction that others join, nothing may be written beside it: use transact.");
    },
    putInBulk: () => {
      throw new Error("In a transaction that others join, nothing may be written beside it: use transact.");
    },
    rows: async (query) =>
      em.isInTransaction() ? (await em.getKysely().executeQuery(query.compile())).rows : database.rows(query),
    commit: Object.assign(commit, { ...database.commit }),
    // What is remembered for all must not depend on what only this transaction sees.
    generation: {
      ...database.generation,
      now: () => (em.isInTransaction() ? null : database.generation.now()),
    },
    announcements: {
      ...announcements,
      announce: (...told) => void afterCommit.push(() => announcements.announce(...told)),
    },
  };
}
