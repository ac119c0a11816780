import { AsyncLocalStorage } from "node:async_hooks";

/** The place of a request among those of its workspace that use the event loop. */
export interface Place {
  /** Runs what the request goes on with in its place: Fastify leaves the place when it has read a body. */
  run(work: () => void): void;
  /** Gives the place to the next one of the workspace; does nothing the second time. */
  end(): void;
}

interface Holder {
  workspaceId: string;
  /** How many things the request waits for beside the event loop. */
  waits: number;
  pause(): void;
  resume(): void;
}

interface Lane {
  workspaceId: string;
  /** Those that have not ended. */
  members: number;
  running: number;
  waiting: (() => void)[];
  /** Since when some begin in this turn of the event loop; undefined while none has begun in it. */
  sinceMs: number | undefined;
}

/** A request that waits for nothing ends in the turn in which it begins, and the next one would follow in the same turn. */
const WINDOW_MS = 10;

const current = new AsyncLocalStorage<Holder>();

/**
 * Lets a few requests of each workspace use the event loop at once, and begins no more of them in one turn than take 10 ms:
 * what one request does goes on step by step, and a neighbour waits for one step of each that is under way. The others of
 * the workspace wait for a place.
 */
export function createEventLoopSlots(maxRunning: number) {
  const lanes = new Map<string, Lane>();
  /** Not within a turn: with a new lane for each request, each had a turn of its own. */
  const removeIfUnused = (lane: Lane) => {
    if (lane.members === 0 && lane.sinceMs === undefined) lanes.delete(lane.workspaceId);
  };
  const startNext = (lane: Lane) => {
    if (lane.waiting.length === 0 || lane.running >= maxRunning) return;
    lane.sinceMs ??= beginTurn(lane);
    if (performance.now() - lane.sinceMs < WINDOW_MS) lane.waiting.shift()!();
  };
  const beginTurn = (lane: Lane): number => {
    setImmediate(endTurn, lane);
    return performance.now();
  };
  const endTurn = (lane: Lane) => {
    lane.sinceMs = undefined;
    removeIfUnused(lane);
    // What follows from one that has begun takes place before the next of these.
    const next = Math.min(lane.waiting.length, maxRunning - lane.running);
    for (let n = 0; n < next; n++) setImmediate(startNext, lane);
  };
  return {
    /** Calls `begin` once there is a place, with whatever follows from it in that place. */
    enter: (workspaceId: string, begin: () => void): Place => {
      const lane = lanes.get(workspaceId) ?? newLane(workspaceId);
      lanes.set(workspaceId, lane);
      lane.members += 1;
      let state: "waiting" | "running" | "paused" | "ended" = "waiting";
      const change = (next: typeof state) => {
        if (state === "ended") return;
        if (state === "running") lane.running -= 1;
        state = next;
        if (state === "running") lane.running += 1;
        if (state === "ended") lane.members -= 1;
        removeIfUnused(lane);
        startNext(lane);
      };
      const holder = {
        workspaceId,
        waits: 0,
        pause: () => change("paused"),
        resume: () => change("running"),
      };
      lane.waiting.push(() => {
        if (state === "ended") return;
        state = "running";
        lane.running += 1;
        current.run(holder, begin);
      });
      startNext(lane);
      return { run: (work) => current.run(holder, work), end: () => change("ended") };
    },
  };
}

const newLane = (workspaceId: string): Lane => ({
  workspaceId,
  members: 0,
  running: 0,
  waiting: [],
  sinceMs: undefined,
});

/** Gives the place of this request to others while it waits for a process, a thread or the disk: that is no load. */
export async function whileWaiting<Result>(work: () => Promise<Result>): Promise<Result> {
  const holder = current.getStore();
  if (!holder) return work();
  holder.waits += 1;
  if (holder.waits === 1) holder.pause();
  try {
    return await work();
  } finally {
    holder.waits -= 1;
    if (holder.waits === 0) holder.resume();
  }
}

/** The workspace whose request is at work; undefined for what belongs to no request, or to none that has a token yet. */
export const currentWorkspace = (): string | undefined => current.getStore()?.workspaceId;

/** Runs what is done for many workspaces at once, as if it were of one that is called `name`. */
export function runShared<Result>(name: string, work: () => Result): Result {
  return current.run({ workspaceId: name, waits: 0, pause: () => {}, resume: () => {} }, work);
}
