import type { Place } from "../../importers/entries.ts";
import { printJson } from "../printing.ts";
import { say, warn } from "../workspace.ts";

const kinds = ["prompts", "versions", "tags", "datasets", "rows", "spans"] as const;
export type Kind = (typeof kinds)[number];

/** What became of the entries of one kind. */
export interface Counts {
  added: number;
  changed: number;
  unchanged: number;
}

export type Outcome = ReturnType<typeof createOutcome>;

const MAX_REFUSALS = 1_000;
const MAX_PRINTED = 100;

/** Collects what an import did, for its report. */
export function createOutcome() {
  const counts = Object.fromEntries(
    kinds.map((kind) => [kind, { added: 0, changed: 0, unchanged: 0 }]),
  ) as Record<Kind, Counts>;
  const refusals: (Place & { reason: string })[] = [];
  const leftOut = new Map<string, number>();
  let refused = 0;
  return {
    counts,
    count: (kind: Kind, { added = 0, changed = 0, unchanged = 0 }: Partial<Counts>): void => {
      counts[kind].added += added;
      counts[kind].changed += changed;
      counts[kind].unchanged += unchanged;
    },
    /** Notes something that is not imported; the reason ends a sentence that begins with its place. */
    refuse: ({ file, line }: Place, reason: string): void => {
      refused += 1;
      if (refusals.length < MAX_REFUSALS) refusals.push({ file, line, reason });
    },
    refused: () => refused,
    refusals,
    leaveOut: (what: string): void => void leftOut.set(what, (leftOut.get(what) ?? 0) + 1),
    leftOut,
    /** How many entries were stored or found stored. */
    total: () =>
      Object.values(counts).reduce(
        (sum, { added, changed, unchanged }) => sum + added + changed + unchanged,
        0,
      ),
  };
}

/** Prints what an import did. Sets the exit code when something was refused. */
export async function reportOutcome(
  outcome: Outcome,
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<void> {
  const { counts, refusals, leftOut } = outcome;
  const refused = outcome.refused();
  if (refused > 0) process.exitCode = 1;
  if (json) return printJson({ dryRun, ...counts, refused, refusals, leftOut: Object.fromEntries(leftOut) });
  for (const { file, line, reason } of refusals.slice(0, MAX_PRINTED))
    warn(`${file}, line ${line}: ${reason}`);
  if (refused > MAX_PRINTED) warn(`… and ${format(refused - MAX_PRINTED)} more.`);
  for (const [what, times] of leftOut) warn(`Left out: ${what} (${format(times)}).`);
  if (dryRun) say("Dry run, nothing was stored. It would be:");
  for (const kind of kinds) {
    const { added, changed, unchanged } = counts[kind];
    if (added + changed + unchanged > 0)
      say(`${kind}: ${format(added)} added, ${format(changed)} changed, ${format(unchanged)} unchanged`);
  }
  say(`${format(refused)} refused`);
}

const format = (count: number): string => count.toLocaleString("en");
