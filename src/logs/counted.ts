import { type TokenParts, tokenParts } from "../usage/tokenParts.ts";
import type { AggregateUsage } from "./entities.ts";
import type { SummedLog } from "./rollups.ts";
import { NONE, type Tree } from "./tree.ts";

/** The types of logs that call a model, which takes tokens and costs something. */
const CALLS: readonly string[] = ["generation", "embedding"];

export const isCall = ({ type }: { type: string }): boolean => CALLS.includes(type);

/** A log, and the usage that its client reported of it. */
export interface ReportingLog extends SummedLog {
  model: string | null;
  responseId: string | null;
  reported: AggregateUsage | null;
}

export const hasUsage = (usage: TokenParts & { cost: number | null }): boolean =>
  usage.cost !== null || tokenParts.some((part) => usage[part] !== null);

/**
 * The ids of the logs of a trace whose usage counts, so that nothing is counted twice: calls of models, but for one around a
 * single call of the same model with the same numbers, and for further reports of one answer, which two instrumentations make
 * beside each other; and other steps that report usage while nothing below them does.
 */
export function countedIds({ logs, parents }: Tree<ReportingLog>): Set<string> {
  const counted = new Set<string>();
  const answers = new Set<string>();
  const below = new Map<number, ReportingLog[]>(); // by place: those that count, of which two are enough to know
  for (let at = logs.length - 1; at >= 0; at--) {
    const log = logs[at]!;
    const inner = below.get(at) ?? [];
    const isWrapper = inner.length === 1 && isSameCall(log, inner[0]!);
    const isKnown = log.responseId !== null && log.reported !== null && answers.has(log.responseId);
    const counts = isCall(log) ? !isWrapper && !isKnown : log.reported !== null && inner.length === 0;
    if (counts) counted.add(log.id);
    if (counts && log.reported && log.responseId !== null) answers.add(log.responseId);
    const parent = parents[at]!;
    if (parent === NONE) continue;
    const above = below.get(parent) ?? [];
    below.set(parent, [...above, ...(counts && log.reported ? [log] : []), ...inner].slice(0, 2));
  }
  return counted;
}

function isSameCall(outer: ReportingLog, inner: ReportingLog): boolean {
  return (
    isCall(inner) &&
    outer.model === inner.model &&
    tokenParts.every((part) => (outer.reported?.[part] ?? 0) === (inner.reported?.[part] ?? 0))
  );
}
