import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
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

/** Of what old objects took after the last collection of them; V8 would take less, and more when a collection seemed slow. */
const GROWING_PERCENT = 200;
const ENOUGH_FOR_NEW_OBJECTS_BYTES = 32 * 1024 * 1024;

/**
 * Lets the memory for new objects grow as requests need it, which bin/gabbro.js stopped for the start, and stops it where
 * more makes nothing faster: V8 would go on to four times that, step by step over hours. Without pretenuring, for the
 * reason above. Old objects may grow by the same factor each time, as a collection of them stops an overloaded process for
 * 200 ms, and a factor that changes lets the memory grow in steps for ever.
 */
export function makeRoomForRequests(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);
  const collections = new PerformanceObserver(() => {
    const { space_size: bytes } = getHeapSpaceStatistics().find((space) => space.space_name === "new_space")!;
    if (bytes < ENOUGH_FOR_NEW_OBJECTS_BYTES) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    collections.disconnect();
  });
  collections.observe({ entryTypes: ["gc"] });
}

function collector(): (how: object) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
