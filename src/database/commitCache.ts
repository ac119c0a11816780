import { LRUCache } from "lru-cache";
import type { Database } from "./open.ts";

/** Values that take less are read in a millisecond. */
const MIN_BYTES = 256 * 1024;
const MAX_BYTES = 16 * 1024 * 1024;
/** From one page of a list to the next; then the memory is free again. */
const CACHED_MS = 10_000;

interface State<Value extends object> {
  /** How many commits the values follow. */
  commits: number;
  values: LRUCache<string, Value>;
}

/**
 * Caches large values that depend on logs until anybody commits anything. On PostgreSQL it caches nothing, as asking whether
 * anything was committed takes as long as reading a page of logs.
 */
export function createCommitCache<Value extends { bytes: number }>() {
  const states = new WeakMap<Database["orm"], State<Value>>();
  const valuesAfter = ({ orm }: Database, commits: number) => {
    const state = states.get(orm) ?? { commits, values: boundedByBytes<Value>() };
    states.set(orm, state);
    if (state.commits !== commits) state.values.clear(); // in place: timers would hold the values of another one
    state.commits = commits;
    return state.values;
  };
  /** The values of a workspace in the present state of the database; `set` is for what is read from now on. */
  return (database: Database, workspaceId: string) => {
    const { reuse, commits } = database.generation;
    const before = commits();
    const values = before === null ? undefined : valuesAfter(database, before);
    const keyOf = (key: string) => `${workspaceId} ${key}`;
    return {
      get: (key: string): Value | undefined => {
        const value = values?.get(keyOf(key));
        if (value) reuse.hits += 1;
        return value;
      },
      set: (key: string, value: Value): void => {
        if (!values || value.bytes < MIN_BYTES) return;
        reuse.misses += 1;
        if (commits() === before) values.set(keyOf(key), value); // else it may be of several states, or of an earlier one
      },
    };
  };
}

const boundedByBytes = <Value extends { bytes: number }>() =>
  new LRUCache<string, Value>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
    ...{ ttl: CACHED_MS, ttlAutopurge: true },
  });
