import { setImmediate as nextTurn } from "node:timers/promises";
import DataLoader from "dataloader";
import { GabbroError } from "../errors.ts";
import { runShared } from "../limits/eventLoop.ts";
import { createTurns } from "../limits/turns.ts";
import { isLocked } from "./driverErrors.ts";
import type { Rows } from "./inserts.ts";

/** The rows of one request. */
export interface Unit<DB> {
  rows: Rows<DB>;
  sinceMs: number;
  size: number;
  workspace: string;
}

export const MAX_TRANSACTION_REQUESTS = 200;
/**
 * SQLite blocks other requests while it writes a transaction: half a megabyte of words of one letter takes it 45 ms to index. A
 * limit in characters let three times as many bytes of Chinese or Korean pass, and others waited for 256 to 314 ms.
 */
export const MAX_TRANSACTION_BYTES = 512 * 1024;
/** A workspace with more to store shares no transaction: the others would wait until all of its words are indexed. */
const MAX_SHARED_BYTES = 64 * 1024;
/**
 * Fewer requests than this wait for another turn, in which callers that the last commit answered send their next request:
 * of 64 callers 52 then share a commit, instead of 32. More requests do not wait, because their turns are long.
 */
const MIN_PENDING_REQUESTS = 64;
export const MAX_WAIT_MS = 5_000;

/** Its transaction also held a refused row, maybe of another workspace: it is stored again, with those of its own workspace only. */
export const APART = "apart";

/** What became of a request. */
export type Stored = true | Error | typeof APART;

/** Whether a request goes on in another transaction. */
export const goesOn = (stored: Stored | undefined): boolean => stored === APART || isLocked(stored);

type StoreBatch<DB> = (batch: Unit<DB>[]) => Promise<Stored[]>;

interface Ways<DB> {
  together: StoreBatch<DB>;
  alone: StoreBatch<DB>;
}

interface Lane<DB> {
  workspace: string;
  waiting: Waiting<DB>[];
  /** The size of the requests that wait. */
  size: number;
  /** How many transactions have rows of the workspace. */
  running: number;
}

interface Waiting<DB> extends PromiseWithResolvers<void> {
  unit: Unit<DB>;
  lane: Lane<DB>;
}

interface Places {
  /** As whom they ask for connections: transactions that take long would leave those of others none. */
  name: string;
  /** How many transactions run at once. */
  places: number;
  /** How many of them have rows of one workspace, so that another finds a place. */
  share: number;
}

/**
 * Stores requests in a few transactions at once; each goes on when its own is committed. Workspaces take turns: one that has much
 * to store has transactions of its own, and those that have little share one.
 */
export function createLanes<DB>(ways: Ways<DB>, { name, places, share }: Places, pending: () => number) {
  /** By workspace, in the order of their turns. A workspace is here only while it stores or waits. */
  const lanes = new Map<string, Lane<DB>>();
  const turn = createTurns();
  let active = 0;
  let isStarting = false;
  const hasNext = () =>
    active < places && lanes.values().some(({ waiting, running }) => waiting.length > 0 && running < share);
  /** Counts a transaction of a lane, and moves that to the end of the order. */
  const count = (lane: Lane<DB>, change: number) => {
    lane.running += change;
    lanes.delete(lane.workspace);
    if (lane.running > 0 || lane.waiting.length > 0) lanes.set(lane.workspace, lane);
  };
  const run = async (taken: Waiting<DB>[]) => {
    const used = new Set(taken.map(({ lane }) => lane));
    active += 1;
    for (const lane of used) count(lane, 1);
    const [only] = used.size === 1 ? used : [];
    // As its own, a workspace's only transaction may have a connection that the pool keeps for those who have none.
    const asking = only ? `${name} ${only.workspace}` : name;
    const endFor = (lane: Lane<DB>) => {
      if (used.delete(lane)) count(lane, -1);
      void startNext();
    };
    await runShared(asking, () => storeBatch(ways, taken.filter(isInTime), endFor));
    active -= 1;
    for (const lane of used) count(lane, -1);
    void startNext();
  };
  const startNext = async () => {
    if (isStarting) return;
    isStarting = true;
    for (let isFirst = share > 1; hasNext(); isFirst = false) {
      if (!isFirst) await turn("group commit"); // other requests run between two transactions
      void run(takeNext(lanes.values(), share));
    }
    isStarting = false;
  };
  const newLane = (workspace: string): Lane<DB> => ({ workspace, waiting: [], size: 0, running: 0 });
  const add = (unit: Unit<DB>) => {
    const lane = lanes.get(unit.workspace) ?? newLane(unit.workspace);
    lanes.set(unit.workspace, lane);
    const one = { unit, lane, ...Promise.withResolvers<void>() };
    lane.waiting.push(one);
    lane.size += unit.size;
    return { stored: one.promise };
  };
  const loader = new DataLoader(
    async (units: readonly Unit<DB>[]) => {
      const added = units.map(add);
      void runShared(name, startNext);
      return added;
    },
    {
      cache: false,
      batchScheduleFn: (dispatch) =>
        setImmediate(() => (pending() < MIN_PENDING_REQUESTS ? setImmediate(dispatch) : dispatch())),
    },
  );
  return async (unit: Unit<DB>): Promise<void> => (await loader.load(unit)).stored;
}

/** The requests of the next transaction, in the order of the turns. A larger request has a transaction of its own. */
function takeNext<DB>(lanes: Iterable<Lane<DB>>, share: number): Waiting<DB>[] {
  const taken: Waiting<DB>[] = [];
  let left = MAX_TRANSACTION_BYTES;
  const fits = (one: Waiting<DB> | undefined) =>
    one && (taken.length === 0 || (taken.length < MAX_TRANSACTION_REQUESTS && one.unit.size <= left));
  for (const lane of lanes) {
    const isAlone = lane.size > MAX_SHARED_BYTES;
    if (lane.running >= share || (isAlone && taken.length > 0)) continue;
    while (fits(lane.waiting[0])) {
      const one = lane.waiting.shift()!;
      taken.push(one);
      lane.size -= one.unit.size;
      left -= one.unit.size;
    }
    if (isAlone) break;
  }
  return taken;
}

/** Refuses a request that waited too long. */
function isInTime<DB>({ unit, reject }: Waiting<DB>): boolean {
  const isEarly = performance.now() - unit.sinceMs <= MAX_WAIT_MS;
  if (!isEarly) reject(tooLate());
  return isEarly;
}

/** After so long the client may have given up and retried: storing the rows now would store them twice. */
function tooLate(): GabbroError {
  const message = "The database is busy; try again in a moment.";
  return new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
}

/**
 * Stores the requests of a transaction; those that go on do so in one for each workspace. Where a row was refused, those with the
 * fewest requests go first, as the refused one has its workspace stored one by one.
 */
async function storeBatch<DB>(
  ways: Ways<DB>,
  batch: Waiting<DB>[],
  endFor: (lane: Lane<DB>) => void,
): Promise<void> {
  if (batch.length === 0) return;
  const { apart, locked } = await settle(batch, ways.together);
  for (const [workspace, some] of byWorkspace(locked))
    void runShared(workspace, async () => {
      for (const { reject } of (await settle(some, ways.alone)).locked) reject(tooLate());
    });
  const fewestFirst = byWorkspace(apart).toSorted(([, one], [, other]) => one.length - other.length);
  for (const [workspace, some] of fewestFirst) {
    await runShared(workspace, () => storeBatch(ways, some, endFor));
    endFor(some[0]!.lane);
    await nextTurn(); // other requests run between two transactions
  }
}

const byWorkspace = <DB>(some: Waiting<DB>[]) => [...Map.groupBy(some, ({ unit }) => unit.workspace)];

/** Stores the requests of a transaction; returns those that go on, by the reason. */
async function settle<DB>(batch: Waiting<DB>[], store: StoreBatch<DB>) {
  const results = await store(batch.map(({ unit }) => unit));
  const [apart, locked]: Waiting<DB>[][] = [[], []];
  for (const [n, one] of batch.entries()) {
    const result = results[n];
    if (result === APART) apart!.push(one);
    else if (isLocked(result)) locked!.push(one);
    else if (result instanceof Error) one.reject(result);
    else one.resolve();
  }
  return { apart: apart!, locked: locked! };
}
