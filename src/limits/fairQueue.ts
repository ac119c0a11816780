import { GabbroError } from "../errors.ts";
import { whileWaiting } from "./eventLoop.ts";

export interface FairQueueOptions {
  /** How many tasks run at once. */
  places: number;
  /** How many places one workspace gets at most, so that another never waits for it; half when absent. */
  share?: number;
  /** How many places stay free for workspaces that have one at most; zero when absent. */
  spare?: number;
  /** How many tasks of one workspace may wait; more are refused. */
  maxWaiting: number;
  /** A task that has waited for longer is refused when its turn comes, because others of its workspace wait behind it. */
  maxWaitMs: number;
  /** The message of a refusal. */
  busy: string;
}

export type FairQueue = ReturnType<typeof createFairQueue>;

interface Lane {
  running: number;
  waiting: { start: () => void; sinceMs: number }[];
}

/** Divides a few places between workspaces: they take turns, and none gets more than its share. */
export function createFairQueue({
  places,
  share = Math.max(1, Math.floor(places / 2)),
  spare = 0,
  maxWaiting,
  maxWaitMs,
  busy,
}: FairQueueOptions) {
  /** By workspace, in the order of their turns. A workspace is here only while it runs or waits. */
  const lanes = new Map<string, Lane>();
  let running = 0;

  const startNext = () => {
    for (const [workspaceId, lane] of lanes) {
      if (running === places) return;
      if (lane.running === share || (lane.running > 1 && running >= places - spare)) continue;
      const next = lane.waiting.shift();
      if (!next) continue;
      lanes.delete(workspaceId);
      lanes.set(workspaceId, lane);
      lane.running += 1;
      running += 1;
      next.start();
    }
  };

  /** Waits for the workspace's turn; returns the function that ends it. Throws UNAVAILABLE beyond the limits. */
  const acquire = async (workspaceId: string): Promise<() => void> => {
    const lane = lanes.get(workspaceId) ?? { running: 0, waiting: [] };
    if (lane.waiting.length >= maxWaiting) throw refusal(busy);
    lanes.set(workspaceId, lane);
    const sinceMs = performance.now();
    await new Promise<void>((start) => {
      lane.waiting.push({ start, sinceMs });
      startNext();
    });
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      running -= 1;
      lane.running -= 1;
      lanes.delete(workspaceId);
      if (lane.running > 0 || lane.waiting.length > 0) lanes.set(workspaceId, lane); // at the end of the order
      startNext();
    };
    if (performance.now() - sinceMs <= maxWaitMs) return release;
    release();
    throw refusal(busy);
  };

  return {
    acquire,
    /** How many tasks wait. */
    waiting: () => [...lanes.values()].reduce((sum, lane) => sum + lane.waiting.length, 0),
    /** Runs `work` in the workspace's turn; throws as `acquire` does. */
    run: <Result>(workspaceId: string, work: () => Promise<Result>): Promise<Result> =>
      whileWaiting(async () => {
        const release = await acquire(workspaceId);
        try {
          return await work();
        } finally {
          release();
        }
      }),
  };
}

function refusal(busy: string): GabbroError {
  return new GabbroError("UNAVAILABLE", busy, { headers: { "retry-after": "1" } });
}
