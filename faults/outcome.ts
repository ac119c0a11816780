import { isFaultless, type Verdict } from "./ledgerCheck.ts";

/** What a test at length found, in words for the table, and whether it is what was wanted. */
export interface Outcome {
  result: string;
  isAsWanted: boolean;
}

/** A test at length, with its control. */
export interface Test {
  cases: number;
  run(cases: number, seed?: number): Promise<Outcome>;
  control(): Promise<Outcome>;
}

/** Gives `run` a database of its own. */
export type Within = <T>(run: (databaseUrl: string) => Promise<T>) => Promise<T>;

export const count = (n: number) => n.toLocaleString("en");
export const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** What a test that looks for losses found. */
export function toOutcome(verdict: Verdict & { acknowledged: number }, more = ""): Outcome {
  const { lost, doubled, faults, acknowledged } = verdict;
  const found = `${count(acknowledged)} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${faults.length} faults of the database`;
  return { result: `${found}${more}`, isAsWanted: isFaultless(verdict) };
}
