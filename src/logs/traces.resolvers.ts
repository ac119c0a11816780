import type { Context } from "../context.ts";
import { isOrphan } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { EntityManager } from "../database/open.ts";
import { runWithPauses } from "../database/pauses.ts";
import { inTransaction } from "../database/transaction.ts";
import { GabbroError } from "../errors.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { createPause } from "../limits/turns.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import type { Warning } from "../warnings.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { findExperiment } from "./experiments.resolvers.ts";
import { limitIngestion } from "./ingestionLimit.resolvers.ts";
import { insertLogs, mayShare, transactionsOf } from "./insertLogs.resolvers.ts";
import { publishLogs } from "./live.resolvers.ts";
import type { ReportedLog } from "./reported.ts";
import { createServedFinder } from "./served.resolvers.ts";
import { countedAmong, type Step, toRows, toStep } from "./steps.resolvers.ts";
import type { LogOfTrace, TraceReport } from "./traces.inputs.ts";

/** Logs that are completed at once; then other requests run. */
const LOGS_AT_ONCE = 100;
/** A trace with more logs counts as long. */
const MAX_SHORT_TRACE_LOGS = 100;

/**
 * Records a trace with its steps. Tokens and costs of calls of models that were not reported are measured. Resolves after the
 * last commit: a long trace takes several, unless the request has an `Idempotency-Key`. Warnings name prompts, versions and
 * experiments that do not exist, and ends before their starts.
 */
export async function logTrace(context: Context, report: TraceReport) {
  const workspaceId = authorize(context, "write");
  const arrival = new Date();
  const logs = report.logs ?? [];
  const trace = toTraceRow(workspaceId, report, { logs, arrival });
  const record = async () => {
    const steps = await toSteps(context, workspaceId, { trace, logs, arrival });
    const counted = await runWithPauses(context, workspaceId, countedAmong(steps));
    const rows = toRows(steps, counted);
    await store(context, workspaceId, { trace, rows });
    return { steps, rows };
  };
  const isLong = logs.length > MAX_SHORT_TRACE_LOGS;
  const { steps, rows } = await (isLong ? limitIngestion(context, record) : record());
  const warnings = [
    ...(await experimentWarnings(context, trace.experimentId)),
    ...[trace, ...rows].flatMap((row, n) => timeWarnings(row, n === 0 ? "" : `logs.${n - 1}.`)),
    ...steps.flatMap((step, at) => promptWarnings(step, at)),
  ];
  return { trace, warnings };
}

/**
 * Stores a trace and tells subscribers of its logs. A long one takes several transactions, in and between which others run, and which end
 * with the time of the request: as one, 10 MB of it kept those who write waiting for up to 2 s, and those who read for 0.35 s while
 * it was committed.
 */
async function store(
  context: Context,
  workspaceId: string,
  { trace, rows }: { trace: TraceRow; rows: ReturnType<typeof toRows> },
): Promise<void> {
  const { database } = context;
  if (mayShare(rows)) {
    const logs = rows.map((row) => ["Log", row] as ["Log", typeof row]);
    await database.commit([["Trace", trace], ...logs]);
    return publishLogs(context, workspaceId, rows);
  }
  const pause = createPause();
  let isStored = false;
  for (const logs of transactionsOf(rows)) {
    const write = async (em: EntityManager) => {
      checkDeadline(context); // it waited for its turn
      if (!isStored) await database.insertWithin(em, [["Trace", trace]]);
      await insertLogs({ em, context }, logs, pause);
    };
    await inTransaction(context.em, write).catch((error) => {
      throw isOrphan(error) ? traceRemoved(error) : error;
    });
    isStored = true;
    await publishLogs(context, workspaceId, logs);
  }
}

function traceRemoved(cause: unknown): GabbroError {
  const message =
    "The trace was removed while its logs were stored: retention or pruneTraces removes traces that began as early. Nothing of it is kept.";
  return new GabbroError("CONFLICT", message, { cause });
}

interface Reported {
  logs: LogOfTrace[];
  arrival: Date;
}

function toTraceRow(workspaceId: string, report: TraceReport, { logs, arrival }: Reported) {
  const featureSlug = report.featureSlug ?? report.chainSlug;
  const starts = logs.flatMap(({ startTime, endTime }) => (startTime ?? endTime)?.getTime() ?? []);
  const ends = logs.flatMap(({ endTime }) => endTime?.getTime() ?? []);
  const firstStart = starts.length > 0 ? new Date(starts.reduce((a, b) => Math.min(a, b))) : null;
  const lastEnd = ends.length > 0 ? new Date(ends.reduce((a, b) => Math.max(a, b))) : null;
  const { name, organization, user, metadata, evaluators, idealOutput, input, output } = report;
  return {
    id: newId(),
    workspace: workspaceId,
    name: name ?? featureSlug ?? logs[0]?.name ?? logs[0]?.prompt?.slug ?? "trace",
    startTime: report.startTime ?? firstStart ?? report.endTime ?? arrival,
    endTime: report.endTime ?? lastEnd,
    createdAt: arrival,
    ...{ organization, user, metadata, evaluators, idealOutput, input, output, featureSlug },
    sampleRate: report.evaluationConfig?.sampleRate ?? null,
    experimentId: report.experiment?.id || null,
  };
}

type TraceRow = ReturnType<typeof toTraceRow>;

async function toSteps(
  context: Context,
  workspaceId: string,
  { trace, logs, arrival }: Reported & { trace: TraceRow },
): Promise<Step[]> {
  const findOwnPrice = ownPriceFinder(context, workspaceId);
  const findServed = createServedFinder(context, workspaceId);
  const steps: Step[] = [];
  for (let at = 0; at < logs.length; at += LOGS_AT_ONCE) {
    if (at > 0) await context.database.turn(workspaceId);
    checkDeadline(context);
    const some = logs.slice(at, at + LOGS_AT_ONCE).map((log) =>
      toStep(workspaceId, toReported(log), {
        ...{ id: newId(), traceId: trace.id, arrival, user: trace.user, organization: trace.organization },
        startTime: log.startTime ?? log.endTime ?? trace.startTime,
        ...{ findOwnPrice, findServed, tokens: "counted" as const },
      }),
    );
    steps.push(...(await Promise.all(some)));
  }
  return steps;
}

function toReported(log: LogOfTrace): ReportedLog {
  const { id, parentId, prompt, ...same } = log;
  return {
    ...same,
    ...{ externalId: id, parentExternalId: parentId },
    ...{ promptSlug: prompt?.slug ?? null, version: prompt?.version ?? null, tag: prompt?.tag ?? null },
    ...{ status: null, statusMessage: null, provider: null, model: null, timeToFirstTokenMs: null },
    ...{ cacheReadTokens: null, cacheWriteTokens: null, reasoningTokens: null },
    ...{ isInternal: false, attributes: null, events: null },
  };
}

async function experimentWarnings(context: Context, id: string | null): Promise<Warning[]> {
  if (id === null || (await findExperiment(context, id))) return [];
  const message = "The experiment does not exist; its id was kept.";
  return [{ code: "EXPERIMENT_NOT_FOUND", message, path: "experiment.id" }];
}

function timeWarnings(row: { startTime: Date; endTime: Date | null }, path: string): Warning[] {
  if (!row.endTime || row.endTime >= row.startTime) return [];
  const message = `${path}endTime is before startTime; both were kept.`;
  return [{ code: "END_BEFORE_START", message, path: `${path}endTime` }];
}

function promptWarnings({ warnings }: Step, at: number): Warning[] {
  return warnings.map(({ path, ...warning }) => ({ ...warning, path: `logs.${at}.prompt.${path}` }));
}
