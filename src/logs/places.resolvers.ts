import type { Context } from "../context.ts";
import { whileWaiting } from "../limits/eventLoop.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { authorize } from "../workspaces/resolvers.ts";

/**
 * Requests whose spans, or logs of a long trace, are in memory, as they are decoded, completed, shown, or wait to be stored. Each has up
 * to 512 kB of spans as they are sent, and 25 MB in memory, where these share a resource of many small values: 60 requests of 10 kB
 * ended a process with a heap of 512 MB. More than four of a workspace would not be stored sooner.
 */
const queue = createFairQueue({
  ...{ places: 16, share: 4, maxWaiting: 500, maxWaitMs: 5_000 },
  busy: "Too many requests with spans or long traces are being stored; try again in a moment.",
});

/** Runs `work` when the workspace has a place for one more such request. Throws UNAVAILABLE when that takes too long. */
export async function inPlace<Result>(context: Context, work: () => Promise<Result>): Promise<Result> {
  const workspaceId = authorize(context, "write");
  // Those who have a place may wait for a transaction, and so must not wait for the one that waits here.
  if (context.em.isInTransaction()) return work();
  const release = await whileWaiting(() => queue.acquire(workspaceId));
  try {
    return await work();
  } finally {
    release();
  }
}
