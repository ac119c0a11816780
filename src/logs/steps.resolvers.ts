import { type FindOwnPrice, measureUsage, type PricedModel, type Usage } from "../usage/usage.ts";
import type { Warning } from "../warnings.ts";
import { countedIds, hasUsage, isCall, type ReportingLog } from "./counted.ts";
import type { AggregateUsage } from "./entities.ts";
import type { ReportedLog, ReportedParty } from "./reported.ts";
import { type FindServed, keepServed, type Served, type StoredServed } from "./served.resolvers.ts";
import { growTree, withPauses } from "./tree.ts";

/** Where a reported log is stored. */
export interface Place {
  id: string;
  traceId: string;
  startTime: Date;
  arrival: Date;
  user: ReportedParty | null;
  organization: ReportedParty | null;
  findOwnPrice: FindOwnPrice;
  /** Whether tokens that the client does not report are counted in its texts, or stay unknown. */
  tokens: "counted" | "reported";
  findServed: FindServed;
  /** What a log that is stored already, and comes again, says of its prompt. */
  storedServed?: StoredServed | undefined;
}

/** A log to store, with the usage that it has if it counts. */
export interface Step {
  row: ReturnType<typeof toRow>;
  /** What the client reported; null for nothing. */
  reported: AggregateUsage | null;
  usage: Usage | null;
  warnings: Warning[];
}

/** The columns of usage of a log that takes nothing by itself. */
export const NO_USAGE = {
  ...{ inputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
  ...{ outputTokens: null, reasoningTokens: null, cost: null },
  costSource: "NONE",
} as const;

/** Completes a reported log: finds the version of the prompt that served, and measures what it took. */
export async function toStep(workspaceId: string, log: ReportedLog, place: Place): Promise<Step> {
  const served = await servedOf(log, place);
  const model = modelOf(log, served);
  const usage = await usageOf(workspaceId, { log, model, place });
  const reported = reportedUsage(log, usage);
  return {
    row: toRow(workspaceId, log, { place, served, model }),
    reported,
    usage,
    warnings: served.warnings,
  };
}

async function servedOf(
  { promptSlug: slug, version, tag }: ReportedLog,
  { findServed, storedServed }: Place,
): Promise<Served> {
  if (slug === null) return { promptId: null, version, tag, model: null, warnings: [] };
  const asked = { slug, version, tag };
  const found = await findServed(asked);
  return storedServed ? keepServed(asked, found, storedServed) : found;
}

/** The model that the client names, else that of the version that served a call. */
function modelOf(log: ReportedLog, { model }: Served): PricedModel | null {
  if (log.model !== null) return { provider: log.provider ?? model?.provider ?? null, model: log.model };
  return log.type === "generation" ? model : null;
}

interface Measured {
  log: ReportedLog;
  model: PricedModel | null;
  place: Place;
}

async function usageOf(workspaceId: string, { log, model, place }: Measured) {
  if (!isCall(log) && !hasUsage(log)) return null;
  const isToCount = place.tokens === "counted" && log.type === "generation";
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens, cost } = log;
  return measureUsage(workspaceId, {
    ...{ inputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, cost },
    outputTokens: outputTokens ?? (log.type === "embedding" ? 0 : null),
    ...(isToCount ? { input: log.input, output: log.output } : { input: null, output: null }),
    model,
    at: place.startTime,
    findOwnPrice: place.findOwnPrice,
  });
}

/** What a log reports in numbers, counted ones included; null when it reports nothing. */
function reportedUsage(log: ReportedLog, usage: Usage | null): AggregateUsage | null {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage ?? log;
  const parts = { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  const all = { ...parts, cost: log.cost };
  return hasUsage(all) ? all : null;
}

function toRow(
  workspaceId: string,
  log: ReportedLog,
  { place, served, model }: { place: Place; served: Served; model: PricedModel | null },
) {
  const { startTime, endTime } = log;
  const tookMs = startTime && endTime ? endTime.getTime() - startTime.getTime() : null;
  return {
    id: place.id,
    workspace: workspaceId,
    trace: place.traceId,
    type: log.isInternal ? ("internal" as const) : log.type,
    prompt: served.promptId,
    ...{ promptSlug: log.promptSlug, version: served.version, tag: served.tag ?? log.tag },
    ...{ provider: model?.provider ?? log.provider, model: model?.model ?? log.model },
    ...{ userId: place.user?.id ?? null, organizationId: place.organization?.id ?? null },
    ...{ input: log.input, output: log.output, idealOutput: log.idealOutput },
    ...{ variables: log.variables, metadata: log.metadata, evaluators: log.evaluators },
    ...{ attributes: log.attributes, events: log.events },
    ...{ name: log.name, status: log.status, statusMessage: log.statusMessage },
    ...{ externalId: log.externalId, parentExternalId: log.parentExternalId },
    remoteParentId: log.remoteParentId ?? null,
    responseId: log.responseId ?? null,
    startTime: place.startTime,
    endTime,
    latencyMs: tookMs !== null && tookMs >= 0 ? tookMs : null,
    timeToFirstTokenMs: log.timeToFirstTokenMs,
    createdAt: place.arrival,
    searchId: null,
  };
}

/** The logs of a trace as rows: those whose usage counts have it in their columns, others keep what was reported. */
export function toRows(steps: Step[], counted: Set<string>) {
  return steps.map(({ row, reported, usage }) =>
    usage && counted.has(row.id)
      ? { ...row, ...usage, aggregateUsage: null }
      : { ...row, ...NO_USAGE, aggregateUsage: reported },
  );
}

/** The ids of the logs of a new trace whose usage counts; yields where others may have a turn. */
export function* countedAmong(steps: Step[]): Generator<void, Set<string>> {
  const logs: ReportingLog[] = [];
  yield* withPauses(steps, (step) => logs.push(toReporting(step)));
  const tree = yield* growTree(logs);
  yield;
  return countedIds(tree);
}

/** A log to store as a part of a tree. */
export function toReporting({ row, reported }: Step): ReportingLog {
  return { ...row, ...NO_USAGE, startMs: row.startTime.getTime(), reported };
}
