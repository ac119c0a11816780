import type { SomeTokenParts, TokenParts } from "../usage/tokenParts.ts";
import { NONE, type Tree, type TreeLog, withPauses } from "./tree.ts";

/** A log as a part of sums: without its payload. */
export interface SummedLog extends TreeLog, SomeTokenParts {
  status: string | null;
  costSource: string;
  cost: number | null;
}

/** Sums over a log and all below it, tokens in disjoint parts. What is unknown counts as 0; the cost is in US dollars. */
export interface Rollup extends Record<keyof TokenParts, number> {
  logs: number;
  errors: number;
  generations: number;
  /** Calls of models without a known cost. */
  unpriced: number;
  cost: number;
}

/** The sums of each log of a tree, one after another in its order, and behind them those of all logs. */
export type Sums = Float64Array;

// Where each sum stands among those of a log.
const [LOGS, ERRORS, GENERATIONS, UNPRICED] = [0, 1, 2, 3];
const [INPUT, CACHE_READ, CACHE_WRITE, OUTPUT, REASONING] = [4, 5, 6, 7, 8];
const COST = 9;
const WIDTH = 10;

/** Sums up a tree: yields where others may have a turn. */
export function* sumUp({ logs, parents }: Tree<SummedLog>): Generator<void, Sums> {
  const sums = new Float64Array((logs.length + 1) * WIDTH);
  yield* withPauses(logs, (log, place) => setOwn(sums, place * WIDTH, log));
  // Adds each log and what is below it to its parent. Those below stand behind it.
  yield* withPauses(logs, (_, before) => {
    const place = logs.length - 1 - before;
    const parent = parents[place] === NONE ? logs.length : parents[place]!;
    add(sums, parent * WIDTH, place * WIDTH);
  });
  return sums;
}

function setOwn(sums: Sums, at: number, log: SummedLog): void {
  sums[at + LOGS] = 1;
  if (log.status === "error") sums[at + ERRORS] = 1;
  if (log.type === "generation") sums[at + GENERATIONS] = 1;
  if (log.costSource === "UNPRICED") sums[at + UNPRICED] = 1;
  sums[at + INPUT] = log.inputTokens ?? 0;
  sums[at + CACHE_READ] = log.cacheReadTokens ?? 0;
  sums[at + CACHE_WRITE] = log.cacheWriteTokens ?? 0;
  sums[at + OUTPUT] = log.outputTokens ?? 0;
  sums[at + REASONING] = log.reasoningTokens ?? 0;
  sums[at + COST] = log.cost ?? 0;
}

function add(sums: Sums, to: number, part: number): void {
  for (let each = 0; each < COST; each++) sums[to + each]! += sums[part + each]!;
  const cost = sums[part + COST]!;
  if (cost !== 0) sums[to + COST] = Number((sums[to + COST]! + cost).toPrecision(14)); // without the errors of binary fractions
}

/** The sums of the log at a place of the tree; behind its last place those of all logs. */
export function rollupAt(sums: Sums, place: number): Rollup {
  const at = place * WIDTH;
  return {
    logs: sums[at + LOGS]!,
    errors: sums[at + ERRORS]!,
    generations: sums[at + GENERATIONS]!,
    unpriced: sums[at + UNPRICED]!,
    inputTokens: sums[at + INPUT]!,
    cacheReadTokens: sums[at + CACHE_READ]!,
    cacheWriteTokens: sums[at + CACHE_WRITE]!,
    outputTokens: sums[at + OUTPUT]!,
    reasoningTokens: sums[at + REASONING]!,
    cost: sums[at + COST]!,
  };
}
