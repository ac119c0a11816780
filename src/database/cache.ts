import { LRUCache } from "lru-cache";
import { jsonSize } from "../limits/jsonSize.ts";
import { keyOfText } from "../limits/longTexts.ts";
import type { Database } from "./open.ts";
import { createSharedReads, type SharedReads } from "./sharedReads.ts";

const MAX_CHARACTERS = 8_000_000;

interface Cache<Value> {
  /** Returns the cached value of a key in a workspace, or else the result of `load`. */
  (database: Database, of: Key, load: () => Promise<Value | null>): Promise<Value | null>;
  /** Replaces a cached value that `isOutdated` finds to be older than one that was read beside the cache. */
  replace(database: Database, of: Key, value: Value, isOutdated: (cached: Value) => boolean): void;
}

interface Key {
  workspaceId: string;
  key: string;
}

/** Loads a value; it is given the state of the database in which it begins, null where no cache may be used. */
type Load<Value> = (generation: string | null) => Promise<Value | null>;

/**
 * Caches values that are read often and seldom change, until any write may have changed any of them: the next request sees
 * the change, also of another process. The result null is not cached. With `shares`, who asks for a value while it is loaded
 * gets it as well: for loads that do not depend on who asks.
 */
export function createCache<Value extends object>({ shares = false } = {}): Cache<Value> {
  const caches = new WeakMap<Database["orm"], { generation: string; values: LRUCache<string, Value> }>();
  const loads = new WeakMap<Database["orm"], SharedReads<Value | null>>();
  const valuesAt = (orm: Database["orm"], generation: string) => {
    let cache = caches.get(orm);
    if (cache?.generation !== generation) {
      cache = { generation, values: boundedByCharacters() };
      caches.set(orm, cache);
    }
    return cache.values;
  };
  const loadShared = (database: Database, key: string, read: Load<Value>) => {
    const share = loads.get(database.orm) ?? createSharedReads();
    loads.set(database.orm, share);
    return share(key, { now: database.generation.now, read });
  };
  const get = async (database: Database, { workspaceId, key }: Key, load: () => Promise<Value | null>) => {
    const { orm, generation } = database;
    const current = generation.now();
    if (current === null) {
      generation.reuse.misses += 1;
      return load();
    }
    const cacheKey = keyOfText(`${workspaceId} ${key}`);
    const cached = valuesAt(orm, current).get(cacheKey);
    if (cached) {
      generation.reuse.hits += 1;
      return cached;
    }
    generation.reuse.misses += 1;
    const read: Load<Value> = async (begunAt) => {
      const values = begunAt === null ? null : valuesAt(orm, begunAt);
      const loaded = await load();
      // After a change in the meantime, `values` is an outdated cache that is no longer read.
      if (loaded) values?.set(cacheKey, loaded);
      return loaded;
    };
    if (!shares) return read(current);
    let isOwn = false;
    const value = await loadShared(database, cacheKey, (begunAt) => {
      isOwn = true;
      return read(begunAt);
    });
    if (!isOwn) await database.turn(workspaceId); // thousands of fields may have waited for it, and go on with their own work
    return value;
  };
  const replace: Cache<Value>["replace"] = (database, { workspaceId, key }, value, isOutdated) => {
    const cache = caches.get(database.orm);
    if (!cache || cache.generation !== database.generation.now()) return; // null: in a transaction, which may roll back
    const cacheKey = keyOfText(`${workspaceId} ${key}`);
    const cached = cache.values.peek(cacheKey);
    if (cached && isOutdated(cached)) cache.values.set(cacheKey, value);
  };
  return Object.assign(get, { replace });
}

/**
 * A cache with a limit of characters: with a limit of entries, a few huge values would fill the memory. Each value within a value
 * counts 32 more: `{},` has 3 characters as text and takes 64 bytes.
 */
export function boundedByCharacters<Value extends object>(): LRUCache<string, Value> {
  return new LRUCache({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (value, key) => key.length + jsonSize(value, MAX_CHARACTERS),
  });
}
