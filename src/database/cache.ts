import { LRUCache } from "lru-cache";
import type { Database } from "./open.ts";

const CACHED_CHARACTERS = 8_000_000;

/** The cached value of a key in a workspace, else what `load` finds; null for what does not exist. */
type Cache<Value> = (
  database: Database,
  of: { workspaceId: string; key: string },
  load: () => Promise<Value | null>,
) => Promise<Value | null>;

/**
 * Caches what is read often and seldom changes, until anybody may have changed anything: the next request then sees the
 * change, also when another process made it. What does not exist is not cached.
 */
export function createCache<Value extends object>(): Cache<Value> {
  const caches = new WeakMap<Database["orm"], { generation: string; values: LRUCache<string, Value> }>();
  return async (database, { workspaceId, key }, load) => {
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
    const place = `${workspaceId} ${key}`;
    const cached = values.get(place);
    if (cached) {
      database.generation.reuse.hits += 1;
      return cached;
    }
    database.generation.reuse.misses += 1;
    const loaded = await load();
    // When anything was changed meanwhile, it goes where nobody looks any more.
    if (loaded) values.set(place, loaded);
    return loaded;
  };
}

/** Bounded by characters: bounded by number, a few huge values fill the memory. */
export function boundedByCharacters<Value extends object>(): LRUCache<string, Value> {
  return new LRUCache({
    maxSize: CACHED_CHARACTERS,
    sizeCalculation: (value, key) => key.length + JSON.stringify(value).length,
  });
}
