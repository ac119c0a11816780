import type { Step } from "./queries.ts";

/** A trace as the screen moves in it: indexes into its steps, which are in display order. */
export interface Outline {
  steps: readonly Step[];
  indexOf: ReadonlyMap<string, number>;
  /** Of each step the index of the one around it; undefined at the top. */
  aboves: readonly (number | undefined)[];
  /** Of each step the index after the last one below it. */
  ends: readonly number[];
  /** The time that the waterfall shows, from 0. */
  spanMs: number;
  errorCount: number;
}

export function outlineOf(steps: readonly Step[]): Outline {
  const ends = new Array<number>(steps.length).fill(steps.length);
  const aboves: (number | undefined)[] = [];
  const open: number[] = [];
  let spanMs = 0;
  let errorCount = 0;
  steps.forEach(({ depth, offsetMs, durationMs, status }, n) => {
    while (open.length > 0 && steps[open.at(-1)!]!.depth >= depth) ends[open.pop()!] = n;
    aboves.push(open.at(-1));
    open.push(n);
    spanMs = Math.max(spanMs, offsetMs + (durationMs ?? 0));
    if (status === "ERROR") errorCount += 1;
  });
  return { steps, indexOf: new Map(steps.map(({ id }, n) => [id, n])), aboves, ends, spanMs, errorCount };
}

/** How many steps are below a step. */
export const countBelow = ({ ends }: Outline, n: number): number => ends[n]! - n - 1;
export const hasBelow = (outline: Outline, n: number): boolean => countBelow(outline, n) > 0;

/** The steps that are not below a collapsed one. */
export function shownSteps({ steps, ends }: Outline, collapsed: ReadonlySet<string>): number[] {
  const shown: number[] = [];
  for (let n = 0; n < steps.length; n = collapsed.has(steps[n]!.id) ? ends[n]! : n + 1) shown.push(n);
  return shown;
}

/** The steps with a text in their name, their type or the beginning of their input or output, in any case. */
export function matchesOf({ steps }: Outline, text: string): number[] {
  const wanted = text.toLowerCase();
  return steps.flatMap(({ name, type, inputPreview, outputPreview }, n) =>
    [name, type, inputPreview, outputPreview].some((part) => part?.toLowerCase().includes(wanted)) ? [n] : [],
  );
}

/** The given steps with all above them, in display order. */
export function withAbove({ aboves }: Outline, matches: readonly number[]): number[] {
  const kept = new Set<number>();
  for (const match of matches) {
    let n: number | undefined = match;
    while (n !== undefined && !kept.has(n)) {
      kept.add(n);
      n = aboves[n];
    }
  }
  return [...kept].toSorted((a, b) => a - b);
}

/** The next step with an error after a step, from the first one again after the last. */
export function nextError({ steps }: Outline, after: number): number | undefined {
  for (let step = 1; step <= steps.length; step += 1) {
    const n = (after + step) % steps.length;
    if (steps[n]!.status === "ERROR") return n;
  }
  return undefined;
}
