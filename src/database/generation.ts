import type { EventSubscriber } from "@mikro-orm/core";
import type { SqlEntityManager } from "@mikro-orm/sql";
import type { ChangeFeed } from "./changeFeed.ts";

/**
 * Tells whether anything may have changed since: it gives the same text only as long as no unit of work of this process
 * and nothing at all of another process was committed. Logs and rows that go by the group commit are not counted, so what
 * rests on it must not depend on them.
 */
export function createGeneration(others: ChangeFeed<SqlEntityManager>) {
  let own = 0;
  const subscriber: EventSubscriber = {
    beforeTransactionCommit: ({ em }) => others.tell(em as SqlEntityManager),
    afterTransactionCommit: () => {
      own += 1;
    },
  };
  return {
    subscriber,
    /** How often something was cached, or had to be read. */
    reuse: { hits: 0, misses: 0 },
    /** Null where nothing must be cached. */
    now: (): string | null => `${own} ${others.countWrites()}`,
  };
}
