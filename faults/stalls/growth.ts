import type { Input } from "./inputs.ts";
import { NoAnswerError } from "./requests.ts";
import type { Cost, Served } from "./served.ts";
import type { Shape } from "./shapes.ts";

export interface Bounds {
  /** The sizes that an input grows through. */
  sizes: number[];
  /** The neighbour's longest wait, beside one request and beside a crowd of them; null on a machine that does other things. */
  waitMs: number | null;
  /** The most processor time that one request may take. */
  cpuMs: number;
}

/** What is below that is noise: compiling, collecting garbage. */
const FLOOR_MS = 50;
/** How much more than its size a request may cost, as garbage and caches do not grow in lines. */
const SLACK = 3;
const MIN_CPU_MS = 1;
const ATTEMPTS = 3;

/** So many callers send what is moderate for one. */
const CROWD = 200;
const CROWD_SIZE = 50_000;

export interface Measured {
  size: number;
  cpuMs: number;
  waitMs: number;
  status: number;
}

export interface Growth {
  steps: Measured[];
  fault: string | undefined;
  /** Whether it can be asked more. */
  isAnswered: boolean;
}

let asked = 0;

/** Has one input grow in one shape, and says what is wrong with what that costs. */
export async function grow(served: Served, input: Input, shape: Shape, bounds: Bounds): Promise<Growth> {
  const steps: Measured[] = [];
  const measure = async (size: number): Promise<Measured> => {
    const n = asked++;
    const made = input.fill(shape, Math.max(1, size - (n % 50)), n);
    const cost: Cost = await served.cost(made);
    return { size, cpuMs: cost.cpuMs, waitMs: cost.waitMs, status: cost.status };
  };
  const limits = { ...bounds, cpuMs: Math.min(bounds.cpuMs, input.maxCpuMs ?? bounds.cpuMs) };
  const sizes = [...new Set(bounds.sizes.map((size) => Math.min(size, input.limit)))];
  for (const size of sizes) {
    try {
      if (steps.length === 0) await measure(size); // what it runs for the first time is compiled
      steps.push(await measure(size));
      let fault = faultOf(steps, limits);
      for (let attempt = 1; fault && attempt < ATTEMPTS; attempt++) {
        if (steps.length > 1) leaveLeast(steps.at(-2)!, await measure(steps.at(-2)!.size));
        leaveLeast(steps.at(-1)!, await measure(size));
        fault = faultOf(steps, limits);
      }
      if (fault) return { steps, fault, isAnswered: true };
    } catch (error) {
      if (!(error instanceof NoAnswerError)) throw error;
      return { steps, fault: `${error.message} at ${size} characters`, isAnswered: false };
    }
  }
  const fault = bounds.waitMs === null ? undefined : await faultOfCrowd(served, input, shape, bounds.waitMs);
  return { steps, fault, isAnswered: true };
}

async function faultOfCrowd(
  served: Served,
  input: Input,
  shape: Shape,
  maxWaitMs: number,
): Promise<string | undefined> {
  const size = Math.min(CROWD_SIZE, input.limit);
  const waits: number[] = [];
  while (waits.length < ATTEMPTS && waits.every((waitMs) => waitMs > maxWaitMs)) {
    const made = Array.from({ length: CROWD }, () => input.fill(shape, size, asked++));
    if (!made.every((one) => "method" in one)) return undefined; // packets have connections of their own
    waits.push(await served.waitBesideMs(made));
  }
  if (waits.some((waitMs) => waitMs <= maxWaitMs)) return undefined;
  return `the neighbour waits ${waits.map(Math.round).join(", ")} ms beside ${CROWD} of ${size} characters`;
}

/** What the machine did beside is not in the least of several. */
function leaveLeast(measured: Measured, again: Measured): void {
  measured.cpuMs = Math.min(measured.cpuMs, again.cpuMs);
  measured.waitMs = Math.min(measured.waitMs, again.waitMs);
}

function faultOf(steps: Measured[], { waitMs, cpuMs }: Bounds): string | undefined {
  const [before, last] = [steps.at(-2), steps.at(-1)!];
  const cost = `${Math.round(last.cpuMs)} ms of processor time for ${last.size} characters`;
  if (waitMs !== null && last.waitMs > waitMs)
    return `the neighbour waits ${Math.round(last.waitMs)} ms at ${last.size} characters (${cost})`;
  if (last.status >= 500 && last.status !== 503) return `answered ${last.status} at ${last.size} characters`;
  if (last.cpuMs > cpuMs) return cost;
  if (!before || last.cpuMs < FLOOR_MS) return undefined;
  const maxMs = SLACK * (last.size / before.size) * Math.max(before.cpuMs, MIN_CPU_MS);
  return last.cpuMs > maxMs ? `${cost}, ${before.cpuMs.toFixed(1)} ms for ${before.size}` : undefined;
}
