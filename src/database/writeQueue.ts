import type { EntityManager } from "@mikro-orm/core";
import { createFairQueue, type FairQueue } from "../limits/fairQueue.ts";

type Configured = Pick<EntityManager, "config">;

const queues = new WeakMap<Configured["config"], FairQueue>();

/**
 * Makes transactions of a database with a single connection for writing wait for the turns of their workspaces. The
 * connection serves transactions in their order: behind 64 of one workspace, the log of another would wait for 5 s.
 */
export function queueWrites({ config }: Configured): void {
  const busy = "Too many writes are under way; try again in a moment.";
  queues.set(config, createFairQueue({ places: 2, maxWaiting: 500, maxWaitMs: 10_000, busy }));
}

/** The queue of a database with a single connection for writing; undefined for others. */
export const writeQueueOf = ({ config }: Configured): FairQueue | undefined => queues.get(config);
