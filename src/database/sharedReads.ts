interface Reading<Result> {
  generation: string | null;
  result: Promise<Result>;
  next?: Promise<Result>;
}

interface Read<Result> {
  /** Names the state of the database. */
  now: () => string | null;
  read: (generation: string | null) => Promise<Result>;
}

/**
 * Shares reads between all who ask for the same key at the same time. One of a key runs; who asks for it after a change gets
 * the next one, which begins after the change and after the one that runs. With a read for each state of the database, callers who change a prompt of 10,000
 * versions had its versions read hundreds of times at once, and a process with a heap of 512 MB ended.
 */
export function createSharedReads<Result>() {
  const reading = new Map<string, Reading<Result>>();
  const start = (key: string, { now, read }: Read<Result>): Promise<Result> => {
    const generation = now();
    const own: Reading<Result> = { generation, result: read(generation) };
    reading.set(key, own);
    const end = () => {
      if (!own.next) reading.delete(key);
    };
    own.result.then(end, end);
    return own.result;
  };
  return (key: string, of: Read<Result>): Promise<Result> => {
    const running = reading.get(key);
    if (!running) return start(key, of);
    if (running.generation === of.now()) return running.result;
    const startNext = () => start(key, of);
    running.next ??= running.result.then(startNext, startNext);
    return running.next;
  };
}

export type SharedReads<Result> = ReturnType<typeof createSharedReads<Result>>;
