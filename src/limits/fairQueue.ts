import { GabbroError } from "../errors.ts";
import { whileWaiting } from "./eventLoop.ts";

export interface FairQueueOptions {
  /** How many run at once. */
  places: number;
  /** How many of them one workspace gets at most, so that another never waits for it; half when absent. */
  share?: number;
  /** How many of one workspace may wait; more are refused. */
  maxWaiting: number;
  /** Who has waited for longer is refused when its turn comes, as others of the workspace wait behind it. */
  maxWaitMs: number;
  /** The sentence for who is refused. */
  busy: string;
}

export type FairQueue = ReturnType<typeof createFairQueue>;

interface Lane {
  running: number;
  waiting: { start: () => void; since: number }[];
}

/** Shares a few places out between workspaces: they take turns, and no workspace takes more than its share. */
export function createFairQueue({
  places,
  share = Math.max(1, Math.floor(places / 2)),
  maxWaiting,
  maxWaitMs,
  busy,
}: FairQueueOptions) {
  /** In the order in which they take turns; a workspace is in it only while it has something to run. */
  const lanes = new Map<string, Lane>();
  let running = 0;

  const startNext = () => {
    for (const [workspaceId, lane] of lanes) {
      if (running === places) return;
      if (lane.running === share) continue;
      const next = lane.waiting.shift();
      if (!next) continue;
      lanes.delete(workspaceId);
      lanes.set(workspaceId, lane);
      lane.running += 1;
      running += 1;
      next.start();
    }
  };

  /** Waits for the workspace's turn and gives what ends it. Throws UNAVAILABLE when too much of the workspace waits already. */
  const acquire = async (workspaceId: string): Promise<() => void> => {
    const lane = lanes.get(workspaceId) ?? { running: 0, waiting: [] };
    if (lane.waiting.length >= maxWaiting) throw refusal(busy);
    lanes.set(workspaceId, lane);
    const since = performance.now();
    await new Promise<void>((start) => {
      lane.waiting.push({ start, since });
      startNext();
    });
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      running -= 1;
      lane.running -= 1;
      lanes.delete(workspaceId);
      if (lane.running > 0 || lane.waiting.length > 0) lanes.set(workspaceId, lane); // behind all others
      startNext();
    };
    if (performance.now() - since <= maxWaitMs) return release;
    release();
    throw refusal(busy);
  };

  return {
    acquire,
    /** How many wait. */
    waiting: () => [...lanes.values()].reduce((sum, lane) => sum + lane.waiting.length, 0),
    /** Runs `work` when it is the workspace's turn, as `acquire` says. */
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
