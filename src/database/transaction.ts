import { IsolationLevel } from "@mikro-orm/core";
import { isUniqueViolation } from "./driverErrors.ts";
import { retryWhileLocked } from "./groupCommit.ts";
import type { EntityManager } from "./open.ts";
import { joinOf } from "./requestTransaction.ts";

const isolationLevels = {
  // What others changed since is not overwritten: PostgreSQL then refuses, and it runs again.
  "own changes": IsolationLevel.REPEATABLE_READ,
  // Nor may what it has only read be changed by others.
  "own reads": IsolationLevel.SERIALIZABLE,
};

/**
 * Runs the reads and writes of one operation in one transaction, held to the workspace of `em`; what it changed is
 * stored when `run` resolves, and nothing when it throws. It may run again when another one was in the way. On SQLite
 * all transactions are serial; on PostgreSQL `guarding` says what nobody else may have changed meanwhile. Where all
 * writes of a request are one transaction, it becomes a part of that.
 */
export function inTransaction<T>(
  em: EntityManager,
  run: (em: EntityManager) => Promise<T>,
  guarding: keyof typeof isolationLevels = "own changes",
): Promise<T> {
  const join = joinOf(em);
  if (join) return join(run);
  const isolationLevel = isolationLevels[guarding];
  const once = () => em.fork().transactional(run, { isolationLevel });
  return retryWhileLocked(async () => {
    try {
      return await once();
    } catch (error) {
      // It may have looked for the row before another one added it; now it finds it.
      if (isUniqueViolation(error)) return once();
      throw error;
    }
  });
}
