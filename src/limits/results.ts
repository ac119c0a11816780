import { currentWorkspace } from "./eventLoop.ts";

/** What the results of a workspace may take in a turn of the event loop, before the others of it wait for the next turn. */
const WINDOW_MS = 10;

interface Lane {
  /** When the first result of this turn came; undefined when none has come in it. */
  sinceMs: number | undefined;
  waiting: (() => void)[];
}

/**
 * Lets the work that follows results of a database server begin for 10 ms of a turn, for each workspace: eight connections may
 * answer at once, and making a hundred logs of a result takes 10 ms. The others follow in the next turns, in their order.
 *
 * Those that go on `together` all ask before any of them has worked, so each waits for an immediate of its own: only then is it known what
 * those before it took.
 */
export function createResultTurns(
  going: "one by one" | "together" = "one by one",
): () => Promise<void> | undefined {
  const lanes = new Map<string, Lane>();
  const beginTurn = (workspaceId: string, lane: Lane) => {
    lane.sinceMs = performance.now();
    setImmediate(endTurn, workspaceId, lane);
  };
  const endTurn = (workspaceId: string, lane: Lane) => {
    lane.sinceMs = undefined;
    if (lane.waiting.length === 0) lanes.delete(workspaceId);
    // One immediate for each: what follows a result runs before the next one.
    for (let n = 0; n < lane.waiting.length; n++) setImmediate(startNext, workspaceId, lane);
  };
  const startNext = (workspaceId: string, lane: Lane) => {
    if (lane.waiting.length === 0) return;
    if (lane.sinceMs === undefined) beginTurn(workspaceId, lane);
    if (performance.now() - lane.sinceMs! < WINDOW_MS) lane.waiting.shift()!();
  };
  return () => {
    const workspaceId = currentWorkspace();
    if (workspaceId === undefined) return undefined;
    const lane = lanes.get(workspaceId) ?? { sinceMs: undefined, waiting: [] };
    lanes.set(workspaceId, lane);
    if (going === "together") {
      setImmediate(startNext, workspaceId, lane);
      return new Promise((resolve) => lane.waiting.push(resolve));
    }
    const isFirst = lane.sinceMs === undefined && lane.waiting.length === 0;
    if (isFirst) beginTurn(workspaceId, lane);
    if (lane.waiting.length === 0 && performance.now() - lane.sinceMs! < WINDOW_MS) return undefined;
    return new Promise((resolve) => lane.waiting.push(resolve));
  };
}
