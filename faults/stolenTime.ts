import { readFileSync } from "node:fs";

/** The unit in which Linux gives times to programs. */
const TICK_MS = 10;
const STEAL = 8;

/**
 * Gives a function that returns for how long the machine under this one has kept a core from work that it had, in all cores
 * together and since the last call, in milliseconds; a rented machine shares them with others. 0 where it is not known.
 */
export function createStolenTime(): () => number {
  if (process.platform !== "linux") return () => 0;
  let before = stolenMs();
  return () => {
    const now = stolenMs();
    const since = now - before;
    before = now;
    return since;
  };
}

function stolenMs(): number {
  const [all] = readFileSync("/proc/stat", "utf8").split("\n", 1);
  return Number(all!.split(/ +/)[STEAL]) * TICK_MS;
}
