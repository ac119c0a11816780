import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const COLLECT_EVERY_BYTES = 1_500_000;

/**
 * Keeps a command that streams small. V8 learns from rows that wait for their transaction that such objects live long,
 * and from then on makes all of them where garbage is seldom collected; a gigabyte then took 400 MB of memory, and more
 * time. Unlike a limit of the heap this never ends the process when a row is large. Gives what to call with how many
 * bytes went through so far.
 */
export function keepMemorySmall(): (bytes: number) => void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString("--semi-space-growth-factor=1");
  const collect = collector();
  let next = 0;
  return (bytes) => {
    if (bytes < next) return;
    // The first one also gives back what loading the program took.
    const flavor = next === 0 ? "last-resort" : "regular";
    next = bytes + COLLECT_EVERY_BYTES;
    collect({ type: "major", execution: "sync", flavor });
  };
}

/**
 * Gives back to the system what loading the program took, a quarter of all its memory: V8 would keep it for as long as
 * nothing presses. Nothing else happens meanwhile.
 */
export function giveMemoryBack(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  collector()({ type: "major", execution: "sync", flavor: "last-resort" });
}

function collector(): (how: object) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
