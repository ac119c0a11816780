import type { EntityManager } from "@mikro-orm/core";
import { createFairQueue, type FairQueue } from "../limits/fairQueue.ts";
import type { Search } from "./search.ts";

type Configured = Pick<EntityManager, "config">;

const queues = new WeakMap<Configured["config"], FairQueue>();

/**
 * Makes transactions wait for the turns of their workspaces, each of which has one at a time. SQLite's only connection for
 * writing serves them in their order; on PostgreSQL those of several connections would flush in one turn of the event loop.
 * Without the queue the log of another workspace waits behind 64 transactions of 1,000 rows for 5 s on SQLite, and 3 s on
 * PostgreSQL.
 */
export function queueWrites({ config }: Configured, { isServer }: Pick<Search, "isServer">): void {
  const busy = "Too many writes are under way; try again in a moment.";
  const places = isServer ? 8 : 2;
  queues.set(config, createFairQueue({ places, share: 1, maxWaiting: 500, maxWaitMs: 10_000, busy }));
}

/** The queue of writes of a database that Gabbro serves; undefined for others, such as that of a migration. */
export const writeQueueOf = ({ config }: Configured): FairQueue | undefined => queues.get(config);
