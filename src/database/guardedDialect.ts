import type { DatabaseConnection, Dialect, Driver } from "kysely";

/**
 * A Kysely dialect whose connections refuse every statement after they were released or their transaction has ended. Kysely
 * refuses that on transactions, but not on their savepoints and plugins: a late statement of these would run outside the
 * transaction, or inside that of the next user of the connection.
 *
 * `isOpen` says whether there is a transaction: of a full or failing disk SQLite ends one by itself, and Kysely would never
 * give back a connection whose rollback fails.
 */
export function guardedDialect(dialect: Dialect, isOpen = async () => true): Dialect {
  return {
    createDriver: () => guardedDriver(dialect.createDriver(), isOpen),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (kysely) => dialect.createIntrospector(kysely),
  };
}

function guardedDriver(driver: Driver, isOpen: () => Promise<boolean>): Driver {
  const connections = new WeakMap<DatabaseConnection, DatabaseConnection>();
  const ended = new WeakSet<DatabaseConnection>();
  const of = (guard: DatabaseConnection) => connections.get(guard)!;
  const usable = (guard: DatabaseConnection) => {
    if (ended.has(guard)) throw new Error("The transaction has ended; nothing more can be done in it.");
    return of(guard);
  };
  return {
    init: (options) => driver.init(options),
    destroy: (options) => driver.destroy(options),
    acquireConnection: async (options) => {
      const connection = await driver.acquireConnection(options);
      const guard: DatabaseConnection = {
        executeQuery: async (query, more) => usable(guard).executeQuery(query, more),
        streamQuery: (query, size, more) => usable(guard).streamQuery(query, size, more),
      };
      connections.set(guard, connection);
      return guard;
    },
    releaseConnection: (guard, options) => {
      ended.add(guard);
      return driver.releaseConnection(of(guard), options);
    },
    beginTransaction: async (guard, settings) => {
      await driver.beginTransaction(of(guard), settings);
      ended.delete(guard);
    },
    // From when it is sent: what follows it on the connection would stand alone.
    commitTransaction: (guard) => {
      ended.add(guard);
      return driver.commitTransaction(of(guard));
    },
    rollbackTransaction: async (guard) => {
      ended.add(guard);
      if (await isOpen()) await driver.rollbackTransaction(of(guard));
    },
    savepoint: async (guard, ...name) => driver.savepoint!(usable(guard), ...name),
    rollbackToSavepoint: async (guard, ...name) => driver.rollbackToSavepoint!(usable(guard), ...name),
    releaseSavepoint: async (guard, ...name) => driver.releaseSavepoint!(usable(guard), ...name),
  };
}
