import { IsolationLevel } from "@mikro-orm/core";
import { currentWorkspace, whileWaiting } from "../limits/eventLoop.ts";
import { afterTurns } from "../limits/turns.ts";
import { duplicateOf, isUniqueViolation } from "./driverErrors.ts";
import type { EntityManager } from "./open.ts";
import { joinOf } from "./requestTransaction.ts";
import { retryWhileLocked } from "./retry.ts";
import { writeQueueOf } from "./writeQueue.ts";

const isolationLevels = {
  // Of what `run` locks before it reads it. Waiting for the lock is no conflict.
  "locked rows": IsolationLevel.READ_COMMITTED,
  // Does not overwrite concurrent changes: PostgreSQL refuses the update, and the transaction is retried.
  "own changes": IsolationLevel.REPEATABLE_READ,
  // Also protects the rows that the transaction only reads; transactions of other workspaces may be in its way.
  "own reads": IsolationLevel.SERIALIZABLE,
};

/**
 * Runs the reads and writes of one operation in one transaction, limited to the workspace of `em`. Its changes are stored
 * when `run` resolves; nothing is stored when it throws. `run` may be retried after a conflict with another transaction. On
 * SQLite all transactions are serial; on PostgreSQL `guarding` selects which rows no other transaction may change meanwhile.
 * Where all writes of a request are one transaction, this becomes a part of it.
 */
export async function inTransaction<T>(
  em: EntityManager,
  run: (em: EntityManager) => Promise<T>,
  guarding: keyof typeof isolationLevels = "own changes",
): Promise<T> {
  const join = joinOf(em);
  if (join) return join(run);
  const queue = writeQueueOf(em);
  const release = queue && (await whileWaiting(() => queue.acquire(currentWorkspace() ?? "")));
  const sinceMs = performance.now();
  try {
    return await runAlone(em, run, isolationLevels[guarding]);
  } finally {
    // SQLite does not wait for anything: the transactions of 64 callers would be one turn of the event loop, of 0.15 s.
    if (release) afterTurns(sinceMs, release);
  }
}

function runAlone<T>(
  em: EntityManager,
  run: (em: EntityManager) => Promise<T>,
  isolationLevel: IsolationLevel,
) {
  const attempt = () => em.fork().transactional(run, { isolationLevel });
  return retryWhileLocked(async () => {
    for (const duplicates = new Set<string>(); ; ) {
      try {
        return await attempt();
      } catch (error) {
        // `run` may have looked for a row before another transaction added it. The next attempt finds it, and may miss another one.
        if (!isUniqueViolation(error) || duplicates.has(duplicateOf(error))) throw error;
        duplicates.add(duplicateOf(error));
      }
    }
  });
}
