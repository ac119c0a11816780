import { LRUCache } from "lru-cache";
import { jsonSize } from "../limits/jsonSize.ts";
import type { Database } from "./open.ts";

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

/**
 * Caches values that are read often and seldom change, until any write may have changed any of them: the next request sees
 * the change, also of another process. The result null is not cached.
 */
export function createCache<Value extends object>(): Cache<Value> {
  const caches = new WeakMap<Database["orm"], { generation: string; values: LRUCache<string, Value> }>();
  const get = async (database: Database, { workspaceId, key }: Key, load: () => Promise<Value | null>) => {
    const generation = database.generation.now();
    if (generation === null) {
      database.generation.reuse.misses += 1;
      return load();
    }
    let cache = caches.get(database.orm);
    if (cache?.generation !== generation) {
      cache = { generation, values: boundedByCharacters() };
      caches.set(database.orm, cache);
    }
    const { values } = cache;
    const cacheKey = `${workspaceId} ${key}`;
    const cached = values.get(cacheKey);
    if (cached) {
      database.generation.reuse.hits += 1;
      return cached;
    }
    database.generation.reuse.misses += 1;
    const loaded = await load();
    // After a change in the meantime, `values` is an outdated cache that is no longer read.
    if (loaded) values.set(cacheKey, loaded);
    return loaded;
  };
  const replace: Cache<Value>["replace"] = (database, { workspaceId, key }, value, isOutdated) => {
    const cache = caches.get(database.orm);
    if (!cache || cache.generation !== database.generation.now()) return; // null: in a transaction, which may roll back
    const cacheKey = `${workspaceId} ${key}`;
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
