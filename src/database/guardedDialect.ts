import type { DatabaseConnection, Dialect, Driver } from "kysely";

interface Guards {
  isOpen: () => Promise<boolean>;
  resultTurn: () => Promise<void> | undefined;
}

/**
 * A Kysely dialect whose connections refuse statements after their release or the end of their transaction. Kysely checks
 * this for transactions, but not for savepoints and plugins: their late statements would run outside of the transaction, or
 * inside that of the next user of the connection.
 *
 * `isOpen` reports whether a transaction is open: SQLite ends it by itself when the disk is full or fails, and Kysely would
 * never release a connection whose rollback fails. `resultTurn` may have the work that follows a result wait.
 */
export function guardedDialect(
  dialect: Dialect,
  { isOpen = async () => true, resultTurn = () => undefined }: Partial<Guards> = {},
): Dialect {
  return {
    createDriver: () => guardedDriver(dialect.createDriver(), { isOpen, resultTurn }),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (kysely) => dialect.createIntrospector(kysely),
  };
}

function guardedDriver(driver: Driver, { isOpen, resultTurn }: Guards): Driver {
  const connections = new WeakMap<DatabaseConnection, DatabaseConnection>();
  const endedGuards = new WeakSet<DatabaseConnection>();
  const of = (guard: DatabaseConnection) => connections.get(guard)!;
  const usable = (guard: DatabaseConnection) => {
    if (endedGuards.has(guard)) throw new Error("The transaction has ended; nothing more can be done in it.");
    return of(guard);
  };
  return {
    init: (options) => driver.init(options),
    destroy: (options) => driver.destroy(options),
    acquireConnection: async (options) => {
      const connection = await driver.acquireConnection(options);
      const guard: DatabaseConnection = {
        executeQuery: async (query, more) => {
          const result = await usable(guard).executeQuery(query, more);
          const turn = resultTurn();
          if (turn) await turn;
          return result as never; // the type that the caller names
        },
        streamQuery: (query, size, more) => usable(guard).streamQuery(query, size, more),
      };
      connections.set(guard, connection);
      return guard;
    },
    releaseConnection: (guard, options) => {
      endedGuards.add(guard);
      return driver.releaseConnection(of(guard), options);
    },
    beginTransaction: async (guard, settings) => {
      await driver.beginTransaction(of(guard), settings);
      endedGuards.delete(guard);
    },
    // Ended as soon as COMMIT is sent: a later statement on the connection would run outside of the transaction.
    commitTransaction: (guard) => {
      endedGuards.add(guard);
      return driver.commitTransaction(of(guard));
    },
    rollbackTransaction: async (guard) => {
      endedGuards.add(guard);
      if (await isOpen()) await driver.rollbackTransaction(of(guard));
    },
    savepoint: async (guard, ...name) => driver.savepoint!(usable(guard), ...name),
    rollbackToSavepoint: async (guard, ...name) => driver.rollbackToSavepoint!(usable(guard), ...name),
    releaseSavepoint: async (guard, ...name) => driver.releaseSavepoint!(usable(guard), ...name),
  };
}
