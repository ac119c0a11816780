import DataLoader from "dataloader";
import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";

/**
 * What a request looks up in one turn of the event loop, with all its loaders: 20,000 fields, each with a loader, took 0.4 s in
 * one. SQLite allows 32,766 values in a statement.
 */
const MAX_KEYS = 500;

const leftOfTurns = new WeakMap<Context, number>();

/** Takes a turn of the workspace for so many keys, where the request has looked up others in this one. */
async function turnFor(context: Context, keys: number): Promise<void> {
  const left = leftOfTurns.get(context) ?? MAX_KEYS;
  leftOfTurns.set(context, (left < keys ? MAX_KEYS : left) - keys);
  if (left < keys) await context.database.turn(context.access?.workspaceId ?? "");
}

/**
 * Batches the look-ups of one request: a relation of a thousand parents costs one statement. `load` gets each distinct key
 * once, and the number of its look-ups. It returns the values in the order of the keys, with an error in place of a key that
 * fails alone. Nothing is cached longer, because a later field of the same request may follow a change.
 */
export function createLoader<Key, Value>(
  load: (context: Context, keys: Key[], times: ReadonlyMap<Key, number>) => Promise<(Value | Error)[]>,
): (context: Context, key: Key) => Promise<Value> {
  const loaders = new WeakMap<Context, (key: Key) => Promise<Value>>();
  return (context, key) => {
    let look = loaders.get(context);
    if (!look) {
      look = loaderOf(context);
      loaders.set(context, look);
    }
    return look(key);
  };

  function loaderOf(context: Context): (key: Key) => Promise<Value> {
    const times = new Map<Key, number>();
    // Caches each key until its batch begins, so that equal ones count once towards its size: without that, 2,900 pages of one
    // trace read it six times at once.
    const loader = new DataLoader<Key, Value>(
      async (keys) => {
        for (const key of keys) loader.clear(key);
        const taken = new Map(keys.map((key) => [key, times.get(key)!]));
        for (const key of keys) times.delete(key);
        await turnFor(context, keys.length);
        checkDeadline(context);
        return load(context, [...keys], taken);
      },
      { maxBatchSize: MAX_KEYS },
    );
    return (key) => {
      times.set(key, (times.get(key) ?? 0) + 1);
      return loader.load(key);
    };
  }
}

/**
 * Calls with the same object share one result, for what is made of values that several fields of an operation get from a loader.
 * Nobody may change either; whatever else `make` gets has to follow from the object.
 */
export function once<Given extends object, More extends unknown[], Result>(
  make: (given: Given, ...more: More) => Result,
) {
  const made = new WeakMap<Given, { result: Result }>();
  return (given: Given, ...more: More): Result => {
    let known = made.get(given);
    if (!known) {
      known = { result: make(given, ...more) };
      made.set(given, known);
    }
    return known.result;
  };
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
