import DataLoader from "dataloader";
import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";

/** SQLite allows 32,766 values in a statement, and the results of all keys are converted in one turn of the event loop. */
const MAX_KEYS = 500;

/**
 * Batches the look-ups of one request: a relation of a thousand parents costs one statement. `load` gets each distinct key
 * once, and the number of its look-ups. It returns the values in the order of the keys, with an error in place of a key that
 * fails alone. Nothing is cached, because a later field of the same request may follow a change.
 */
export function createLoader<Key, Value>(
  load: (context: Context, keys: Key[], times: ReadonlyMap<Key, number>) => Promise<(Value | Error)[]>,
): (context: Context, key: Key) => Promise<Value> {
  const loaders = new WeakMap<Context, DataLoader<Key, Value>>();
  return (context, key) => {
    let loader = loaders.get(context);
    if (!loader) {
      const options = { cache: false, maxBatchSize: MAX_KEYS };
      loader = new DataLoader((keys: readonly Key[]) => loadOnce(context, keys), options);
      loaders.set(context, loader);
    }
    return loader.load(key);
  };

  async function loadOnce(context: Context, keys: readonly Key[]): Promise<(Value | Error)[]> {
    checkDeadline(context);
    const times = new Map<Key, number>();
    for (const key of keys) times.set(key, (times.get(key) ?? 0) + 1);
    const distinct = [...times.keys()];
    const values = await load(context, distinct, times);
    const byKey = new Map(distinct.map((key, at) => [key, values[at]!]));
    return keys.map((key) => byKey.get(key)!);
  }
}

/** Batches look-ups by id like `createLoader`: `find` returns those that there are, in any order; the others are null. */
export function createFinder<Entity extends { id: string }>(
  find: (context: Context, ids: string[]) => Promise<Entity[]>,
): (context: Context, id: string) => Promise<Entity | null> {
  return createLoader<string, Entity | null>(async (context, ids) => {
    const byId = new Map((await find(context, ids)).map((entity) => [entity.id, entity]));
    return ids.map((id) => byId.get(id) ?? null);
  });
}
