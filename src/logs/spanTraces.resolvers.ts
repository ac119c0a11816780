import { LockMode } from "@mikro-orm/core";
import { lengthOf } from "../database/lengths.ts";
import { piecesOf } from "../database/pieces.ts";
import type { Pause } from "../limits/turns.ts";
import { content } from "./copiedAttributes.ts";
import { Trace } from "./entities.ts";
import { bytesOfTrace } from "./payloads.resolvers.ts";
import type { ReportedSpan, ReportedTrace } from "./reported.ts";
import type { Step } from "./steps.resolvers.ts";
import type { Batch } from "./storedLogs.resolvers.ts";

/** A span, and the log that it becomes. */
export interface SpanStep {
  span: ReportedSpan;
  /** The id of its trace here. */
  traceId: string;
  step: Step;
}

/** Stores what spans say of their traces. Returns the ids of the traces that were there before. */
export async function storeTraces(batch: Batch, steps: SpanStep[], pause: Pause): Promise<string[]> {
  const { context, em, workspaceId } = batch;
  const byTrace = Map.groupBy(steps, ({ traceId }) => traceId);
  // In the order of their ids, so that two batches do not wait for each other.
  const traceIds = [...byTrace.keys()].toSorted();
  const stored = await em.find(
    Trace,
    { id: { $in: traceIds } },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: "asc" } },
  );
  const lengths = await measure(batch, stored);
  // SQLite writes the whole row for a change of its time: of 60 traces of 9 MB in 0.4 s.
  for (const { piece } of piecesOf(stored, ({ id }) => lengths.get(id)!.row)) {
    for (const trace of piece) update(trace, lengths.get(trace.id)!, byTrace.get(trace.id)!);
    await em.flush();
    await pause();
  }
  const news = traceIds.filter((id) => !lengths.has(id));
  await context.database.insertWithin(
    em,
    news.map((id) => ["Trace", toTraceRow(workspaceId, id, byTrace.get(id)!)]),
  );
  return stored.map(({ id }) => id);
}

/** Lengths in the database, in bytes. */
interface Lengths {
  user: number;
  organization: number;
  row: number;
}

/** The lengths of stored traces, whose columns of megabytes are not read here: a caller names 500 of them in a few kilobytes. */
async function measure({ context, em, workspaceId }: Batch, traces: Trace[]): Promise<Map<string, Lengths>> {
  if (traces.length === 0) return new Map();
  const ids = traces.map(({ id }) => id);
  const lengths = context.database.read
    .selectFrom("Trace")
    .select(({ ref }) => [
      "id as id",
      lengthOf(ref("user")).as("user"),
      lengthOf(ref("organization")).as("organization"),
      bytesOfTrace(ref).as("row"),
    ])
    .where("workspace", "=", context.database.search.unestimated(workspaceId))
    .where("id", "in", ids);
  const rows = await context.database.rowsWithin(em, lengths);
  return new Map(rows.map(({ id, ...ofTrace }) => [id, ofTrace]));
}

/** The root among spans: the one that began first. Its id begins with its start. */
function rootOf(spans: SpanStep[]): SpanStep | undefined {
  return spans
    .filter(({ span }) => span.isRoot)
    .toSorted((a, b) => (a.step.row.id < b.step.row.id ? -1 : 1))[0];
}

/** What the first span that says it says of the trace, the root before all others. */
function saysOf<Name extends keyof ReportedTrace>(
  spans: SpanStep[],
  root: SpanStep | undefined,
  name: Name,
): ReportedTrace[Name] | null {
  const ofRoot = root?.span.trace[name] ?? null;
  if (ofRoot !== null) return ofRoot;
  return spans.find(({ span }) => span.trace[name] !== null)?.span.trace[name] ?? null;
}

function times(spans: SpanStep[]) {
  const starts = spans.map(({ span }) => span.log.startTime.getTime());
  const ends = spans.flatMap(({ span }) => span.log.endTime?.getTime() ?? []);
  return {
    startTime: new Date(starts.reduce((a, b) => Math.min(a, b))),
    endTime: ends.length === 0 ? null : new Date(ends.reduce((a, b) => Math.max(a, b))),
  };
}

const FROM_ROOT = [...content, "evaluators", "sampleRate"] as const;
const FROM_ANY = [
  ...["featureSlug", "experimentId", "sessionId", "environment", "user", "organization"],
] as const satisfies (keyof ReportedTrace)[];

function toTraceRow(workspaceId: string, id: string, spans: SpanStep[]) {
  const root = rootOf(spans);
  const trace = root?.span.trace;
  const [first] = spans;
  return {
    id,
    workspace: workspaceId,
    externalId: first!.span.traceId,
    rootId: root?.step.row.id ?? null,
    name: saysOf(spans, root, "name") ?? nameOf(first!.span),
    ...times(spans),
    createdAt: new Date(),
    ...Object.fromEntries(FROM_ROOT.map((name) => [name, trace?.[name] ?? null])),
    ...(Object.fromEntries(FROM_ANY.map((name) => [name, saysOf(spans, root, name)])) as Pick<
      ReportedTrace,
      (typeof FROM_ANY)[number]
    >),
    idealOutput: null,
  };
}

const nameOf = ({ log }: ReportedSpan): string => log.name ?? log.type;

/** Adds what spans say of a stored trace: a root that began before the known one replaces what that one said. */
function update(trace: Trace, { user, organization }: Lengths, spans: SpanStep[]): void {
  const known = { user: user > 0, organization: organization > 0 };
  const { startTime, endTime } = times(spans);
  if (startTime < trace.startTime) trace.startTime = startTime;
  if (endTime && (!trace.endTime || endTime > trace.endTime)) trace.endTime = endTime;
  const root = rootOf(spans);
  const isRoot = root !== undefined && (trace.rootId === null || root.step.row.id <= trace.rootId);
  for (const name of FROM_ANY) {
    const value = saysOf(spans, root, name);
    const isUnknown = name in known ? !known[name as keyof typeof known] : trace[name] === null;
    if (value !== null && (isUnknown || isRoot)) Object.assign(trace, { [name]: value });
  }
  if (!isRoot) return;
  trace.rootId = root.step.row.id;
  trace.name = root.span.trace.name ?? nameOf(root.span);
  for (const name of FROM_ROOT) {
    const value = root.span.trace[name];
    // Reads take the content that is null here from the root.
    if (value !== null || isContent(name)) Object.assign(trace, { [name]: value });
  }
}

const isContent = (name: string): boolean => (content as readonly string[]).includes(name);
