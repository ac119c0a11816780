import type { EventSubscriber } from "@mikro-orm/core";
import type { SqlEntityManager } from "@mikro-orm/sql";
import type { ChangeFeed } from "./changeFeed.ts";

/**
 * Names the state of the database for caches: the name stays the same only while this process commits no unit of work and
 * other processes commit nothing at all. Logs and rows of the group commit do not count, so what is cached by it must not
 * depend on them.
 */
export function createGeneration(changeFeed: ChangeFeed<SqlEntityManager>) {
  let own = 0;
  const subscriber: EventSubscriber = {
    beforeTransactionCommit: ({ em }) => changeFeed.notify(em as SqlEntityManager),
    afterTransactionCommit: () => {
      own += 1;
    },
  };
  return {
    subscriber,
    /** How often something was cached, or had to be read. */
    reuse: { hits: 0, misses: 0 },
    /** Null where nothing must be cached. */
    now: (): string | null => `${own} ${changeFeed.countWrites()}`,
  };
}
