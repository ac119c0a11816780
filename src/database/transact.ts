import { whenUnlocked } from "./commit.ts";
import type { EntityManager } from "./open.ts";

/**
 * Runs the reads and writes of one operation in one transaction, held to the workspace of `em`; what it changed is
 * stored when `run` resolves, and nothing when it throws. It may run again when another process was in the way.
 */
export function transact<T>(em: EntityManager, run: (em: EntityManager) => Promise<T>): Promise<T> {
  return whenUnlocked(() => em.fork().transactional(run));
}
