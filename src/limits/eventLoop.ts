import { AsyncLocalStorage } from "node:async_hooks";
import { afterTurns } from "./turns.ts";

/** The place of a request among the requests of its workspace that use the event loop. */
export interface Place {
  /** Runs `work` in this place. Fastify leaves the async context of the place when it reads a body. */
  run(work: () => void): void;
  /** Gives the place to the next request of the workspace. Calling it again does nothing. */
  end(): void;
}

interface Holder {
  workspaceId: string;
  /** How many processes, threads or disk operations the request waits for. */
  waits: number;
  pause(): void;
  resume(): void;
}

interface Lane {
  workspaceId: string;
  /** Requests that have not ended. */
  members: number;
  running: number;
  waiting: (() => void)[];
  /** When the first request of this turn of the event loop began; undefined if none has begun in it. */
  sinceMs: number | undefined;
}

/** A request that never waits ends in the turn that begins it; without this limit all others would follow in the same turn. */
const WINDOW_MS = 10;

const current = new AsyncLocalStorage<Holder>();

/**
 * Lets a few requests of each workspace use the event loop at once; its other requests wait for a place. A turn begins new
 * requests for at most 10 ms. Running requests advance step by step, so a neighbour waits for one step of each of them.
 */
export function createEventLoopSlots(maxRunning: number) {
  const lanes = new Map<string, Lane>();
  /** Keeps the lane until its turn ends: a request with a new lane would start a turn of its own. */
  const removeIfUnused = (lane: Lane) => {
    if (lane.members === 0 && lane.sinceMs === undefined && lanes.get(lane.workspaceId) === lane)
      lanes.delete(lane.workspaceId);
  };
  const startNext = (lane: Lane) => {
    if (lane.waiting.length === 0 || lane.running >= maxRunning) return;
    lane.sinceMs ??= beginTurn(lane);
    if (performance.now() - lane.sinceMs < WINDOW_MS) lane.waiting.shift()!();
  };
  const beginTurn = (lane: Lane): number => {
    const nowMs = performance.now();
    afterTurns(nowMs, () => endTurn(lane));
    return nowMs;
  };
  const endTurn = (lane: Lane) => {
    lane.sinceMs = undefined;
    removeIfUnused(lane);
    // One immediate for each: the follow-up work of a request runs before the next request begins.
    const next = Math.min(lane.waiting.length, maxRunning - lane.running);
    for (let n = 0; n < next; n++) setImmediate(startNext, lane);
  };
  return {
    /** Calls `begin` with the place once there is one, which may be at once; its asynchronous work belongs to that place too. */
    enter: (workspaceId: string, begin: (place: Place) => void): Place => {
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
        // Not at once: a request ends before its answer is written, and those that are refused would nest without end.
        if (lane.waiting.length > 0) setImmediate(startNext, lane);
      };
      const holder = {
        workspaceId,
        waits: 0,
        pause: () => change("paused"),
        resume: () => change("running"),
      };
      // Forgotten once it runs: the timers of a connection keep this place while it is idle, and with `begin` the request and its answer.
      let waiting: typeof begin | undefined = begin;
      lane.waiting.push(() => {
        const work = waiting!;
        waiting = undefined;
        if (state === "ended") return;
        state = "running";
        lane.running += 1;
        current.run(holder, work, place);
      });
      const place: Place = { run: (work) => current.run(holder, work), end: () => change("ended") };
      startNext(lane);
      return place;
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

/** Frees the place of the request while it waits for a process, a thread or the disk: waiting does not use the event loop. */
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

/** The workspace of the current request; undefined outside of requests, and before a request has its place. */
export const currentWorkspace = (): string | undefined => current.getStore()?.workspaceId;

/** Runs work on behalf of a workspace, or, for several ones at once, of one that is called `name`. */
export function runShared<Result>(name: string, work: () => Result): Result {
  return current.run({ workspaceId: name, waits: 0, pause: () => {}, resume: () => {} }, work);
}
