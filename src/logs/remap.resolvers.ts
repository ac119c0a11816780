import type { Context } from "../context.ts";
import { piecesOf } from "../database/pieces.ts";
import { inTransaction } from "../database/transaction.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { ownPriceFinder } from "../pricing/resolvers.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { withCopies } from "./copiedAttributes.ts";
import { logsInPeriod } from "./export.resolvers.ts";
import { mapSpan } from "./otlp/mapping.ts";
import { rebuildSpan } from "./otlp/rebuild.ts";
import { changedFields, comparedColumns, type StoredLog, saidOfTrace } from "./remapped.ts";
import type { ReportedSpan } from "./reported.ts";
import { createServedFinder } from "./served.resolvers.ts";
import { recordSpans } from "./spans.resolvers.ts";
import { toStep } from "./steps.resolvers.ts";
import { toStorable } from "./storable.ts";

export interface RemapInput {
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
  dryRun: boolean;
}

/** What mapping again changed, or would change. */
export interface Remapping {
  /** The logs of the period that came as spans. */
  examined: number;
  changed: number;
  /** How many logs have another value in each field; fields of the trace begin with `trace.`. */
  fields: Record<string, number>;
  dryRun: boolean;
}

/**
 * Maps the spans of a period again, as they would be mapped if they came today, and stores those that become another log.
 * Works in small steps, so that other writes do not wait long; an interrupted run is not undone. Logs that came another way
 * stay, as do the calls of client libraries to Gabbro, which keep nothing to map.
 */
export async function remapSpans(
  context: Context,
  { from, to, dryRun }: RemapInput,
  report: (logs: number) => void = () => {},
): Promise<Remapping> {
  const workspaceId = authorize(context, "admin");
  disableDeadline(context);
  const result: Remapping = { examined: 0, changed: 0, fields: {}, dryRun };
  let logs = 0;
  try {
    for await (const page of logsInPeriod(context, workspaceId, { from, to }))
      for (const { piece } of piecesOf(page, ({ bytes }) => bytes)) {
        const ids = piece.map(({ id }) => id);
        await remapPiece(context, await readStored(context, workspaceId, ids), result);
        logs += piece.length;
        report(logs);
        await context.database.turn(workspaceId);
      }
  } finally {
    if (!dryRun) await record(context, { from, to }, result); // an interrupted run as well
  }
  return result;
}

/** Logs that are read together: a few megabytes. */
async function remapPiece(context: Context, logs: StoredLog[], result: Remapping): Promise<void> {
  const changed: { span: ReportedSpan; fields: string[] }[] = [];
  let examined = 0;
  for (const log of logs) {
    const rebuilt = rebuildSpan(log);
    if (!rebuilt) continue;
    examined += 1;
    const span = mapSpan(rebuilt);
    const fields = changedFields(log, await toCompared(context, log, span));
    if (fields.length > 0) changed.push({ span, fields });
  }
  if (!result.dryRun)
    await recordSpans(
      context,
      changed.map(({ span }) => span),
      "kept",
    );
  result.examined += examined;
  result.changed += changed.length;
  for (const field of changed.flatMap(({ fields }) => fields))
    result.fields[field] = (result.fields[field] ?? 0) + 1;
}

async function toCompared(context: Context, stored: StoredLog, mapped: ReportedSpan) {
  const span = toStorable(mapped);
  const { log, trace } = span;
  const { startTime } = log;
  const { user, organization } = trace;
  const place = { id: stored.id, traceId: stored.trace, startTime, arrival: startTime, user, organization };
  const workspaceId = authorize(context, "write");
  const findOwnPrice = ownPriceFinder(context, workspaceId);
  const findServed = createServedFinder(context, workspaceId, "kept");
  const how = { findOwnPrice, findServed, storedServed: stored, tokens: "reported" } as const;
  return { span, step: await toStep(workspaceId, log, { ...place, ...how }) };
}

async function readStored({ database }: Context, workspaceId: string, ids: string[]): Promise<StoredLog[]> {
  const rows = await database.read
    .selectFrom("Log")
    .innerJoin("Trace", "Trace.id", "Log.trace")
    .select(comparedColumns.map((column) => `Log.${column}` as const))
    .select(["Trace.externalId as traceExternalId", "Trace.name as traceName", "Trace.rootId as rootId"])
    .select(saidOfTrace.map((column) => `Trace.${column} as ${column}` as const))
    .where("Log.workspace", "=", workspaceId)
    .where("Trace.workspace", "=", workspaceId)
    .where("Log.id", "in", ids)
    .where("Log.type", "!=", "internal")
    .orderBy("Log.startTime")
    .orderBy("Log.id")
    .execute();
  return (rows as StoredLog[]).map((log) => ({ ...log, attributes: withCopies(log.attributes, log) }));
}

async function record(
  context: Context,
  { from, to }: { from: Date; to: Date },
  { examined, changed, fields }: Remapping,
): Promise<void> {
  const after = { from: from.toISOString(), to: to.toISOString(), examined, changed, fields };
  await inTransaction(context.em, async (em) =>
    recordChange(em, context, { action: "remapSpans", subject: "logs", before: null, after }),
  );
}
