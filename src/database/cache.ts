import { LRUCache } from "lru-cache";
import type { Database } from "./open.ts";

const CACHED_CHARACTERS = 8_000_000;

/** What was found under that key in that workspace, else what `load` finds now; null is what is not there. */
type Cache<Value> = (
  database: Database,
  of: { workspaceId: string; key: string },
  load: () => Promise<Value | null>,
) => Promise<Value | null>;

/**
 * Remembers what is read often and seldom changes, until anybody may have changed anything: the next request then sees
 * the change, also when another process made it. What is not there is looked for each time.
 */
export function createCache<Value extends object>(): Cache<Value> {
  const memories = new WeakMap<Database["orm"], { generation: string; values: LRUCache<string, Value> }>();
  return async (database, { workspaceId, key }, load) => {
    const generation = database.generation.now();
    if (generation === null) {
      database.generation.reuse.misses += 1;
      return load();
    }
    let memory = memories.get(database.orm);
    if (memory?.generation !== generation) {
      memory = { generation, values: boundedByCharacters() };
      memories.set(database.orm, memory);
    }
    const { values } = memory;
    const place = `${workspaceId} ${key}`;
    const known = values.get(place);
    if (known) {
      database.generation.reuse.hits += 1;
      return known;
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
