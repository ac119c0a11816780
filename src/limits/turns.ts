import { createRoundRobin } from "./roundRobin.ts";

const MAX_TURNS = 64;

/**
 * Calls `next` after one turn of the event loop, and one more for each millisecond that work took since `sinceMs`, unless
 * these take as long as the work. Node.js accepts one connection a turn: if each turn did 100 ms of work, a neighbour would
 * wait a second behind ten connections.
 */
export function afterTurns(sinceMs: number, next: () => void): void {
  setImmediate(() => {
    const endMs = performance.now();
    const workMs = endMs - sinceMs;
    let left = Math.min(workMs, MAX_TURNS);
    const pass = () => {
      left -= 1;
      if (left < 0 || performance.now() - endMs > workMs) next();
      else setImmediate(pass);
    };
    pass();
  });
}

/** Lets other requests run after work that began at `sinceMs`, where it cannot wait for a turn of its workspace. */
export const pauseAfter = (sinceMs: number) => new Promise<void>((resolve) => afterTurns(sinceMs, resolve));

/** The same after work that is known to be long, whenever it began. */
export const passTurns = () => pauseAfter(performance.now() - MAX_TURNS);

/** The longest work between two turns of others. */
const MAX_WORK_MS = 10;

/** Resolves to whether other requests have run meanwhile. */
export type Pause = () => Promise<boolean>;

/**
 * Lets other requests run where work took long. Writers of all workspaces may wait for the transaction, so it does not wait for
 * the turns of its own workspace, which has others under way.
 */
export function createPause(): Pause {
  let sinceMs = performance.now();
  return async () => {
    if (performance.now() - sinceMs <= MAX_WORK_MS) return false;
    await pauseAfter(Math.max(sinceMs, performance.now() - MAX_TURNS)); // most of it may have been waiting
    sinceMs = performance.now();
    return true;
  };
}

/**
 * Runs work that keeps the event loop busy for milliseconds one piece at a time, and handles other events between two
 * pieces. Workspaces take turns: a piece waits for at most one piece of each other workspace.
 */
export function createTurns(): (workspaceId: string) => Promise<void> {
  const waiting = createRoundRobin<() => void>();
  let isScheduled = false;
  const next = () => {
    const begin = waiting.next();
    isScheduled = begin !== undefined;
    if (!begin) return;
    afterTurns(performance.now(), next);
    begin();
  };
  return (workspaceId) =>
    new Promise((resolve) => {
      waiting.add(workspaceId, resolve);
      if (!isScheduled) setImmediate(next);
      isScheduled = true;
    });
}
