import type { EventSubscriber } from "@mikro-orm/core";

/**
 * Tells whether anything may have changed since: it gives the same text only as long as no unit of work of this process
 * and nothing at all of another process was committed. Logs and rows that go by the group commit are not counted, so what
 * rests on it must not depend on them.
 */
export function createGeneration(writesOfOthers: () => number) {
  let own = 0;
  const subscriber: EventSubscriber = {
    afterTransactionCommit: () => {
      own += 1;
    },
  };
  return {
    subscriber,
    bump: () => {
      own += 1;
    },
    now: (): string => `${own} ${writesOfOthers()}`,
  };
}
