/** What is told when something comes, to tell when it goes. */
export interface Entry<Value> {
  readonly value: Value;
  place: number;
}

/**
 * Lists what comes and goes all the time, such as requests, in no order. A Set would do, but V8 makes its table anew every
 * few changes, and each table points to the next one: when one of them has lived long, all that were ever listed after it
 * wait for the collection of old objects. With a Set of the requests under way that took a quarter of all time.
 */
export function createRoster<Value>() {
  const entries: Entry<Value>[] = [];
  return {
    add: (value: Value): Entry<Value> => {
      const entry = { value, place: entries.length };
      entries.push(entry);
      return entry;
    },
    /** Does nothing for what went before. */
    remove: (entry: Entry<Value>): void => {
      if (entries[entry.place] !== entry) return;
      const last = entries.pop()!;
      if (last === entry) return;
      entries[entry.place] = last;
      last.place = entry.place;
    },
    /** All that are there now; they may go meanwhile. */
    all: (): Value[] => entries.map(({ value }) => value),
    size: (): number => entries.length,
    count: (isMeant: (value: Value) => boolean): number => {
      let count = 0;
      for (const { value } of entries) if (isMeant(value)) count += 1;
      return count;
    },
  };
}
