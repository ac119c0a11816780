import type { EventSubscriber } from "@mikro-orm/core";
import type { SqlEntityManager } from "@mikro-orm/sql";
import type { ChangeFeed } from "./changeFeed.ts";

/**
 * Names the state of the database for caches: the name changes when this process commits a unit of work or another process
 * commits anything. It does not change for the group commit of this process, so cached values must not depend on logs and
 * rows that the group commit stores.
 */
export function createGeneration(changeFeed: ChangeFeed<SqlEntityManager>) {
  let ownCommits = 0;
  const subscriber: EventSubscriber = {
    beforeTransactionCommit: ({ em }) => changeFeed.notify(em as SqlEntityManager),
    afterTransactionCommit: () => {
      ownCommits += 1;
    },
  };
  return {
    subscriber,
    /** Hits and misses of all caches. */
    reuse: { hits: 0, misses: 0 },
    /** Null where no cache may be used. */
    now: (): string | null => `${ownCommits} ${changeFeed.countWrites()}`,
    /** The same for values that depend on logs: changes with each commit. Null where no such value may be cached. */
    commits: (): number | null => changeFeed.countCommits(),
    /**
     * The same for what subscribers share: it stays while this process cannot hear of other processes, as subscribers get what
     * they missed once it hears of them again.
     */
    heard: (): string => `${ownCommits} ${changeFeed.countHeardWrites()}`,
  };
}
