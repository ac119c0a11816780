import type { Context } from "../context.ts";
import { createPauses } from "../database/pauses.ts";
import { inTransaction } from "../database/transaction.ts";
import { writeAhead } from "../database/writeAhead.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { publishLogs } from "./live.resolvers.ts";
import { mergeWords } from "./mergeWords.resolvers.ts";
import type { ReportedSpan } from "./reported.ts";
import { createServedFinder, type MissingVersion, readServed } from "./served.resolvers.ts";
import { logIdOf, traceIdOf } from "./spanIds.ts";
import { transactionsOf } from "./spanPieces.resolvers.ts";
import { recountTrace, storeSpans } from "./spanStore.resolvers.ts";
import type { SpanStep } from "./spanTraces.resolvers.ts";
import { type Place, toStep } from "./steps.resolvers.ts";
import { toStorable } from "./storable.ts";
import type { Batch } from "./storedLogs.resolvers.ts";

/**
 * A batch of 2 MB of words leaves up to 622, the last one that replaced 1,000 logs of 16,000 words. Bounded, as others may replace
 * logs meanwhile.
 */
const MAX_MERGES = 1_000;

/** Spans that are completed at once; then other requests run. */
const SPANS_AT_ONCE = 64;

/**
 * Stores spans, each as a log of its trace, in one transaction, or in several where they may rewrite much of what is stored. A
 * span that was stored before is replaced, as exporters send a batch again when they miss the answer; the version of its prompt
 * that served stays. Where many stored logs begin or cease to count, further transactions recount them. Resolves after the last
 * commit with the number of logs that were written; the warnings are sentences about spans and prompts.
 */
export async function recordSpans(
  context: Context,
  spans: ReportedSpan[],
  missingVersion: MissingVersion = "production serves",
): Promise<{ stored: number; warnings: string[] }> {
  const workspaceId = authorize(context, "write");
  if (spans.length === 0) return { stored: 0, warnings: [] };
  const steps = await toSteps(context, workspaceId, spans, missingVersion);
  let stored = 0;
  for (const some of await transactionsOf(context, steps)) {
    checkDeadline(context);
    const { rows, toRecount, replaced } = await inBatch(context, (batch) => storeSpans(batch, some));
    const listed = rows.filter(({ type }) => type !== "internal");
    await publishLogs(context, workspaceId, listed);
    if (replaced > 0) await mergeWords(context, workspaceId, { max: MAX_MERGES });
    await recountTraces(context, toRecount, some.length);
    stored += rows.length;
  }
  const sentences = steps.flatMap(({ span, step }) => [
    ...span.warnings,
    ...step.warnings.map(({ message }) => message),
  ]);
  return { stored, warnings: [...new Set(sentences)] };
}

/** Recounts what `storeSpans` left of traces that may have grown by `stored` logs. */
export async function recountTraces(context: Context, traceIds: string[], stored: number): Promise<void> {
  for (const traceId of traceIds)
    while (await inBatch(context, (batch) => recountTrace(batch, traceId, stored))) checkDeadline(context);
}

function inBatch<T>(context: Context, work: (batch: Batch) => Promise<T>): Promise<T> {
  const { workspaceId } = authenticated(context);
  return inTransaction(context.em, (em) => work({ context, em, workspaceId }), "locked rows");
}

/** Completes each span; of several with one id the last counts. */
export async function toSteps(
  context: Context,
  workspaceId: string,
  spans: ReportedSpan[],
  missingVersion: MissingVersion = "production serves",
): Promise<SpanStep[]> {
  const arrival = new Date();
  const findOwnPrice = ownPriceFinder(context, workspaceId);
  const findServed = createServedFinder(context, workspaceId, missingVersion);
  const traceIds = new Map<string, string>();
  const steps = new Map<string, SpanStep>();
  const pause = createPauses(context, workspaceId);
  for (let at = 0; at < spans.length; at += SPANS_AT_ONCE) {
    if (at > 0) await pause.take();
    const storable: ReportedSpan[] = [];
    for (const span of spans.slice(at, at + SPANS_AT_ONCE)) {
      if (pause.isDue()) await pause.take();
      storable.push(await storableSpan(context, workspaceId, span));
    }
    const some = storable.map((span) => {
      const traceId = traceIds.get(span.traceId) ?? traceIdOf(workspaceId, span.traceId);
      traceIds.set(span.traceId, traceId);
      return { span, traceId, id: idOf(workspaceId, span) };
    });
    const naming = some.filter(({ span }) => span.log.promptSlug !== null);
    const stored = await readServed(
      context,
      workspaceId,
      naming.map(({ id }) => id),
    );
    const completed = some.map(({ span, traceId, id }) => {
      const place = { id, traceId, arrival, findOwnPrice, findServed, storedServed: stored.get(id) };
      return complete(workspaceId, span, place);
    });
    for (const one of await Promise.all(completed)) steps.set(one.step.row.id, one);
  }
  const all = [...steps.values()];
  await writeAhead(
    context,
    workspaceId,
    all.flatMap(({ span, step }) => [step.row, span.trace]),
  );
  return all;
}

/** A span whose values every database can store; JSON that takes long is written in turns. */
async function storableSpan(
  context: Context,
  workspaceId: string,
  span: ReportedSpan,
): Promise<ReportedSpan> {
  const slow: object[] = [];
  const storable = toStorable(span, slow);
  if (slow.length === 0) return storable;
  await writeAhead(context, workspaceId, [slow]);
  return toStorable(span);
}

function idOf(workspaceId: string, { traceId, log, startNanos }: ReportedSpan): string {
  const { externalId: spanId, startTime } = log;
  return logIdOf(workspaceId, { traceId, spanId, startMs: startTime.getTime(), startNanos });
}

async function complete(
  workspaceId: string,
  span: ReportedSpan,
  own: Omit<Place, "startTime" | "user" | "organization" | "tokens">,
): Promise<SpanStep> {
  const { log, trace } = span;
  const { user, organization } = trace;
  const place = { ...own, startTime: log.startTime, user, organization, tokens: "reported" } as const;
  return { span, traceId: own.traceId, step: await toStep(workspaceId, log, place) };
}
