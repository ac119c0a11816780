/**
 * Shares a read between all who ask for the same key in the same state of the database at the same time: after a change,
 * every subscriber asks for its token.
 */
export function shareReads<Result>(
  read: (key: string, generation: string | null) => Promise<Result>,
): typeof read {
  const reading = new Map<string, Promise<Result>>();
  return (key, generation) => {
    const name = `${generation} ${key}`;
    const shared = reading.get(name) ?? read(key, generation);
    if (!reading.has(name)) {
      reading.set(name, shared);
      void shared.catch(() => {}).finally(() => reading.delete(name));
    }
    return shared;
  };
}
