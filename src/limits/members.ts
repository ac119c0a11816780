/** The highest index that an object may have. One that had it keeps its members by index in a table. */
const HIGHEST_INDEX = 2 ** 32 - 2;
const SHORT_INDEX = /^[1-9]\d{1,3}$/;

/**
 * Sets a member of an object that is made of what callers named, `__proto__` as well. For a first member "999" V8 makes room for
 * 1,500 of them, 12 kB where `JSON.parse` takes 0.2: one request of 274 kB ended a process with a heap of 512 MB, and six of
 * 10,000 rows one with the default heap. Setting the highest index first has V8 make no room; elsewhere it changes nothing.
 */
export function setMember(target: Record<string, unknown>, key: string, value: unknown): void {
  if (
    key.length <= 4 &&
    SHORT_INDEX.test(key) &&
    !(Number(key) - 1 in target) &&
    !(HIGHEST_INDEX in target)
  ) {
    target[HIGHEST_INDEX] = null;
    delete target[HIGHEST_INDEX];
  }
  if (key !== "__proto__") target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** `Object.fromEntries` for names of callers. */
export function objectOf(entries: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries) setMember(object, key, value);
  return object;
}
