import { AsyncLocalStorage } from "node:async_hooks";

/** The place of a request among those of its workspace that use the event loop. */
export interface Place {
  /** Gives the place to the next one of the workspace; does nothing the second time. */
  end(): void;
}

interface Holder {
  /** How many things the request waits for beside the event loop. */
  waits: number;
  pause(): void;
  resume(): void;
}

interface Lane {
  running: number;
  waiting: (() => void)[];
}

const current = new AsyncLocalStorage<Holder>();

/**
 * Lets a few requests of each workspace use the event loop at once: what one request does goes on step by step, and a
 * neighbour waits for one step of each that is under way. The others of the workspace wait for a place.
 */
export function createPlaces(maxRunning: number) {
  const lanes = new Map<string, Lane>();
  const startNext = (workspaceId: string, lane: Lane) => {
    while (lane.running < maxRunning && lane.waiting.length > 0) lane.waiting.shift()!();
    if (lane.running === 0 && lane.waiting.length === 0) lanes.delete(workspaceId);
  };
  return {
    /** Calls `begin` once there is a place, with whatever follows from it in that place. */
    enter: (workspaceId: string, begin: () => void): Place => {
      const lane = lanes.get(workspaceId) ?? { running: 0, waiting: [] };
      lanes.set(workspaceId, lane);
      let state: "waiting" | "running" | "paused" | "ended" = "waiting";
      const change = (next: typeof state) => {
        if (state === "ended") return;
        if (state === "running") lane.running -= 1;
        state = next;
        if (state === "running") lane.running += 1;
        startNext(workspaceId, lane);
      };
      const holder = { waits: 0, pause: () => change("paused"), resume: () => change("running") };
      lane.waiting.push(() => {
        if (state === "ended") return;
        state = "running";
        lane.running += 1;
        current.run(holder, begin);
      });
      startNext(workspaceId, lane);
      return { end: () => change("ended") };
    },
  };
}

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
