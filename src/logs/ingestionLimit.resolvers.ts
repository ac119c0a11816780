import type { Context } from "../context.ts";
import { whileWaiting } from "../limits/eventLoop.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { authorize } from "../workspaces/resolvers.ts";

/**
 * Requests whose spans, or logs of a long trace, are in memory: they are decoded, completed, shown, or wait to be stored. 512 kB of
 * spans, as they are sent, take up to 25 MB where they share a resource of many small values: 60 requests of 10 kB ended a process
 * with a heap of 512 MB. More than four of a workspace would not be stored sooner.
 */
const queue = createFairQueue({
  ...{ places: 16, share: 4, maxWaiting: 500, maxWaitMs: 5_000 },
  busy: "Too many requests with spans or long traces are being stored; try again in a moment.",
});

/** Runs `work` when the workspace may have one more such request in memory. Throws UNAVAILABLE when that takes too long. */
export async function limitIngestion<Result>(context: Context, work: () => Promise<Result>): Promise<Result> {
  const workspaceId = authorize(context, "write");
  // A request in a transaction must not wait here: those that are let in may wait for its transaction.
  if (context.em.isInTransaction()) return work();
  const release = await whileWaiting(() => queue.acquire(workspaceId));
  try {
    return await work();
  } finally {
    release();
  }
}
