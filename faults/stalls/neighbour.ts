import { Worker } from "node:worker_threads";

/** Where the thread writes what it sees. */
export const AT = { longestMs: 0, askedAt: 1, answered: 2, refused: 3 };

export interface Place {
  url: string;
  token: string;
  path: string;
  seen: Float64Array;
}

/** Somebody who asks for a prompt every 25 ms over a connection of its own, from a thread of its own. */
export function startNeighbour(place: Omit<Place, "seen">) {
  const seen = new Float64Array(new SharedArrayBuffer(Object.keys(AT).length * 8));
  const worker = new Worker(new URL("./neighbourThread.ts", import.meta.url), {
    workerData: { ...place, seen },
    execArgv: ["--no-warnings"],
  });
  return {
    /** The longest wait since this was asked last, with that of what it still waits for. */
    longestMs: (): number => {
      const askedAt = seen[AT.askedAt]!;
      const waitingMs = askedAt === 0 ? 0 : performance.timeOrigin + performance.now() - askedAt;
      const longestMs = Math.max(seen[AT.longestMs]!, waitingMs);
      seen[AT.longestMs] = 0;
      return longestMs;
    },
    answered: (): number => seen[AT.answered]!,
    refused: (): number => seen[AT.refused]!,
    stop: async (): Promise<void> => void (await worker.terminate()),
  };
}
