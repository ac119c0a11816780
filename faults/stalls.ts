import { createRandom } from "../test/support/random.ts";
import type { How } from "./gateway.ts";
import { count as inWords, type Outcome, seconds, type Test, type Within } from "./outcome.ts";
import { bodyInputs } from "./stalls/bodyInputs.ts";
import { documentInputs } from "./stalls/documentInputs.ts";
import { graphqlInputs, restInputs } from "./stalls/fieldInputs.ts";
import { type Bounds, type Growth, grow } from "./stalls/growth.ts";
import { addressInputs, headerInputs, readHeaders } from "./stalls/headInputs.ts";
import type { Input } from "./stalls/inputs.ts";
import { otlpInputs } from "./stalls/otlpInputs.ts";
import { packetInputs } from "./stalls/packetInputs.ts";
import { repeatedInputs } from "./stalls/repeatedInputs.ts";
import { type Served, serve } from "./stalls/served.ts";
import { learned, type Shape, shapes } from "./stalls/shapes.ts";

export interface StallsResult {
  /** How many inputs there are that can grow. */
  inputs: number;
  /** How many of them grew in how many shapes. */
  cases: number;
  requests: number;
  /** How many requests were carried out. */
  taken: number;
  maxCpuMs: number;
  longestWaitMs: number;
  maxHeldMb: number;
  /** What was found, each with how to find it again. */
  faults: string[];
}

interface Wanted {
  cases: number;
  /** The first of them, in an order that stays the same. */
  from: number;
  bounds: Bounds;
  timeoutMs: number;
  maxFaults?: number;
  how?: Pick<How, "preload">;
  /** Called with each fault when it is found. */
  report?: (fault: string) => void;
}

/** After so many the server and its database are new ones, as what was stored makes others slow. */
const ROUND = 200;

/** Has inputs grow in one shape after the other, and looks at what that costs the server and keeps a neighbour waiting. */
export async function lookForStalls(within: Within, wanted: Wanted): Promise<StallsResult> {
  const result: StallsResult = {
    ...{ inputs: 0, cases: 0, requests: 0, taken: 0 },
    ...{ maxCpuMs: 0, longestWaitMs: 0, maxHeldMb: 0, faults: [] },
  };
  const { cases, maxFaults = Infinity } = wanted;
  const isDone = () => result.cases >= cases || result.faults.length >= maxFaults;
  while (!isDone())
    await within(async (databaseUrl) => {
      const served = await serve({ databaseUrl, ...wanted.how }, wanted.timeoutMs);
      try {
        await round(served, wanted, result, isDone);
      } finally {
        await served.stop();
      }
    });
  return result;
}

async function round(
  served: Served,
  { from, bounds, maxFaults = Infinity, report = () => {} }: Wanted,
  result: StallsResult,
  isDone: () => boolean,
): Promise<void> {
  const inputs = await allInputs(served);
  result.inputs = inputs.length;
  const caseAt = drawing(inputs);
  const next = () => from + result.cases;
  const add = (fault: string, at: number) => {
    result.faults.push(`${fault} (again: npm run faults -- stalls 1 ${at})`);
    report(result.faults.at(-1)!);
  };
  const first = await heldAfter(served, caseAt, { from: next(), requests: WARMING });
  for (let n = 0; n < ROUND && !isDone(); n++) {
    const at = next();
    result.cases += 1;
    const { input, shape } = caseAt(at);
    const { steps, fault, isAnswered } = await growCase(served, caseAt(at), bounds);
    count(result, steps);
    if (fault) add(`${input.name}: ${shape.name}: ${fault}`, at);
    if (!isAnswered) return; // it may be busy for hours
  }
  if (result.faults.length >= maxFaults) return;
  const last = await heldAfter(served, caseAt, { from: next(), requests: CROWD });
  result.maxHeldMb = Math.max(result.maxHeldMb, last);
  if (last > first + MAX_KEPT_MB)
    add(`it holds ${Math.round(last)} MB afterwards, ${Math.round(first)} MB before`, next());
}

async function growCase(served: Served, { input, shape }: Case, bounds: Bounds): Promise<Growth> {
  const answerTo = async (small: Shape) => (await served.send(input.fill(small, 1, 0))).text;
  return grow(served, input, await learned(shape, answerTo), bounds);
}

function count(result: StallsResult, steps: Growth["steps"]): void {
  for (const { cpuMs, waitMs, status } of steps) {
    result.requests += 1;
    result.taken += status >= 200 && status < 300 ? 1 : 0;
    result.maxCpuMs = Math.max(result.maxCpuMs, cpuMs);
    result.longestWaitMs = Math.max(result.longestWaitMs, waitMs);
  }
}

const WARMING = 200;
const CROWD = 1_400;
const SMALL = 200;
/** The caches may hold 80: 32 of documents, and three times 8,000,000 characters. */
const MAX_KEPT_MB = 128;

/** What is held after small requests that differ: what is kept of each shows by their number, not by their size. */
async function heldAfter(
  served: Served,
  caseAt: (at: number) => Case,
  { from, requests }: { from: number; requests: number },
): Promise<number> {
  for (let n = 0; n < requests; n++) {
    const { input, shape } = caseAt(from + n);
    await served.send(input.fill(shape, SMALL, from + n));
  }
  return served.heldMb();
}

/** Every place of every request that can grow. */
async function allInputs({ fixtures, document }: Served): Promise<Input[]> {
  return [
    ...graphqlInputs(fixtures),
    ...restInputs(document, fixtures),
    ...headerInputs(await readHeaders(), fixtures),
    ...addressInputs(document),
    ...documentInputs(),
    ...bodyInputs(),
    ...otlpInputs(),
    ...packetInputs(),
    ...repeatedInputs(),
  ];
}

interface Case {
  input: Input;
  shape: Shape;
}

/** Gives the inputs of all areas in turn, each with the next of its shapes, in an order that looks random and stays the same. */
function drawing(inputs: Input[]): (at: number) => Case {
  const { below } = createRandom(1);
  const byArea = Object.values(Object.groupBy(inputs, ({ area }) => area)).map((ofArea) => {
    const cases = ofArea!.flatMap((input) =>
      shapes.filter(({ kind }) => input.kinds.includes(kind)).map((shape) => ({ input, shape })),
    );
    for (let at = cases.length - 1; at > 0; at--) {
      const other = below(at + 1);
      [cases[at], cases[other]] = [cases[other]!, cases[at]!];
    }
    return cases;
  });
  return (at) => {
    const cases = byArea[at % byArea.length]!;
    return cases[Math.floor(at / byArea.length) % cases.length]!;
  };
}

const SMALLER = [1_000, 10_000, 100_000, 1_000_000];
/** To count the tokens of 10 MB takes a worker 1.6 s, where "T+" is repeated. A slow machine takes half a second for much of a megabyte. */
const MAX_CPU_MS = 2_000;
/** For a machine that does other things, too: processor time alone, and above all how it grows. */
export const onAnyMachine: Bounds = { sizes: SMALLER, waitMs: null, cpuMs: MAX_CPU_MS };
const onAQuietOne: Bounds = { sizes: [...SMALLER, 10_000_000], waitMs: 250, cpuMs: MAX_CPU_MS };
const LONG_TIMEOUT_MS = 10_000;

/** Stalls at length, on both databases. */
export function stalls({ withFile, withPostgresql }: Record<"withFile" | "withPostgresql", Within>) {
  const looked = (within: Within, wanted: Pick<Wanted, "cases" | "from" | "how" | "maxFaults">) =>
    lookForStalls(within, {
      ...{ bounds: onAQuietOne, timeoutMs: LONG_TIMEOUT_MS, ...wanted },
      report: (fault) => process.stderr.write(`${fault}\n`),
    });
  const test = (within: Within): Test => ({
    cases: 7_000,
    run: async (cases, from = 0) => toOutcome(await looked(within, { cases, from })),
    control: async () => {
      const spoilt = { cases: 200, from: 0, how: { preload: "quadratic" }, maxFaults: 1 };
      const { faults, cases } = await looked(within, spoilt);
      return { result: `${faults.length} found in ${cases} cases`, isAsWanted: faults.length > 0 };
    },
  });
  return { stalls: test(withFile), "stalls-on-postgresql": test(withPostgresql) };
}

function toOutcome({ faults, ...found }: StallsResult): Outcome {
  const said = [
    `${inWords(found.inputs)} inputs, ${inWords(found.requests)} requests, ${inWords(found.taken)} carried out`,
    `the dearest took ${seconds(found.maxCpuMs)} of processor time`,
    `the neighbour waited ${Math.round(found.longestWaitMs)} ms at most`,
    `${Math.round(found.maxHeldMb)} MB held afterwards at most`,
    `${faults.length} stalls`,
  ];
  return { result: said.join("; "), isAsWanted: faults.length === 0 };
}
