import DataLoader from "dataloader";
import type { Context } from "../context.ts";

/**
 * Turns a look-up of many keys into one of a single key that gathers all those of one request which are asked for
 * together: a relation of a thousand parents then costs one statement. `load` answers in the order of the keys.
 */
export function batched<Key, Value, CacheKey = Key>(
  load: (context: Context, keys: readonly Key[]) => Promise<Value[]>,
  cacheKeyFn?: (key: Key) => CacheKey,
): (context: Context, key: Key) => Promise<Value> {
  const loaders = new WeakMap<Context, DataLoader<Key, Value, CacheKey>>();
  return (context, key) => {
    let loader = loaders.get(context);
    if (!loader) {
      loader = new DataLoader((keys: readonly Key[]) => load(context, keys), { cacheKeyFn });
      loaders.set(context, loader);
    }
    return loader.load(key);
  };
}
