import type { Context } from "../context.ts";
import { createLoader } from "../database/loader.ts";
import type { Page } from "../database/pages.ts";
import { runWithPauses } from "../database/pauses.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { tokenParts } from "../usage/tokenParts.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import type { LogRecord, TraceRecord } from "./entities.ts";
import { findLogRow } from "./rows.resolvers.ts";
import { addTo, growTree, noRollup, type Placed, type Rollup, type TreeLog, withPauses } from "./tree.ts";

/** A trace as a tree. */
export interface Tree {
  /** When the trace began, in milliseconds since 1970. */
  startMs: number;
  /** Its logs in display order. */
  placed: Placed[];
  placeOf: (id: string) => Placed | undefined;
  /** Sums over all of them. */
  total: Rollup;
}

const PAGE_LOGS = 2_000;
/** What a log takes in memory while its tree is needed: an answer of 32 MB then has trees of 100,000 logs. */
const TREE_LOG_BYTES = 320;

const columns = [
  ...["id", "trace", "startTime", "type", "status", "cost", "costSource", ...tokenParts],
  ...["externalId", "parentExternalId", "remoteParentId"],
] as const;

/** The trees of the traces with these ids, each read once for all fields of an operation that need it; reads no payload. */
const readTree = createLoader<string, Tree>(async (context, traceIds) => {
  const starts = await readStarts(context, traceIds);
  const rows = Map.groupBy(await readLogs(context, traceIds), ({ trace }) => trace);
  const { workspaceId } = authenticated(context);
  return runWithPauses(
    context,
    workspaceId,
    toTrees(traceIds.map((id) => ({ rows: rows.get(id) ?? [], startMs: starts.get(id) ?? 0 }))),
  );
});

function* toTrees(traces: { rows: Row[]; startMs: number }[]): Generator<void, Tree[]> {
  const trees: Tree[] = [];
  for (const { rows, startMs } of traces) trees.push(yield* toTree(rows, startMs));
  return trees;
}

function* toTree(rows: Row[], startMs: number): Generator<void, Tree> {
  yield* withPauses(rows, (row) => {
    row.startMs = new Date(row.startTime).getTime();
  });
  const placed = yield* growTree(rows);
  const total = noRollup();
  yield* withPauses(placed, ({ depth, subtree }) => {
    if (depth === 0) addTo(total, subtree);
  });
  let byId: Map<string, Placed> | undefined; // pages of a trace do not need it
  const placeOf = (id: string) => {
    byId ??= new Map(placed.map((one) => [one.log.id, one]));
    return byId.get(id);
  };
  return { startMs, placed, placeOf, total };
}

type Row = TreeLog & { trace: string; startTime: Date };

async function readStarts({ database, access }: Context, traceIds: string[]): Promise<Map<string, number>> {
  const query = database.read
    .selectFrom("Trace")
    .select(["id as id", "startTime as startTime"])
    .where("workspace", "=", access!.workspaceId)
    .where("id", "in", traceIds);
  const starts = await database.rows(query);
  return new Map(starts.map(({ id, startTime }) => [id, new Date(startTime).getTime()]));
}

async function readLogs(context: Context, traceIds: string[]): Promise<Row[]> {
  const { workspaceId } = authenticated(context);
  const { read, rows, turn } = context.database;
  const query = read
    .selectFrom("Log")
    .select(columns.map((column) => `${column as "id"} as ${column as "id"}` as const))
    .where("workspace", "=", workspaceId)
    .orderBy("trace")
    .orderBy("id")
    .limit(PAGE_LOGS)
    .$castTo<Row>();
  const all: Row[] = [];
  let left = traceIds;
  let last: Row | undefined; // where a full page ended: the rest of its trace is read by itself, as an index leads to it
  for (;;) {
    const page: Row[] = await rows(
      last
        ? query.where("trace", "=", last.trace).where("id", ">", last.id)
        : query.where("trace", "in", left),
    );
    spendAnswerBytes(context, page.length * TREE_LOG_BYTES);
    for (const row of page) all.push(row);
    const end = page[PAGE_LOGS - 1];
    if (end) left = left.filter((id) => id > end.trace);
    else if (!last || left.length === 0) return all;
    last = end;
    await turn(workspaceId);
    checkDeadline(context);
  }
}

/** The tree of a trace. */
export function treeOfTrace(context: Context, { id }: Pick<TraceRecord, "id">): Promise<Tree> {
  authenticated(context); // no scope: a writer may see the trace that its mutation added
  return readTree(context, id);
}

type Place = Placed & { tree: Tree };

/** Of the logs that `logsOf` has read, as each field of a page asks for them, at different times. */
const places = new WeakMap<LogRecord, Place>();

/**
 * Reads from where a log stands in its trace; from undefined when it has just been removed or is hidden. At once where this is
 * known: a promise for each field of 2,000 logs takes longer than the fields.
 */
export function fromPlace<Value>(
  context: Context,
  log: LogRecord,
  read: (place: Place | undefined) => Value,
): Value | Promise<Value> {
  const known = places.get(log);
  if (known) return read(known);
  const { id, trace } = log;
  return treeOfTrace(context, { id: typeof trace === "string" ? trace : trace.id }).then((tree) => {
    const placed = tree.placeOf(id);
    return read(placed && { ...placed, tree });
  });
}

interface LogsPage extends Page {
  types?: readonly string[] | null | undefined;
  status?: string | null | undefined;
}

/** A page of the logs of a trace, in display order. */
export async function logsOf(
  context: Context,
  parent: Pick<TraceRecord, "id">,
  { after, limit, types, status }: LogsPage,
): Promise<LogRecord[]> {
  const tree = await treeOfTrace(context, parent);
  const { placed } = tree;
  const previous = after === undefined ? -1 : placed.findIndex(({ log }) => log.id === after);
  if (previous === -1 && after !== undefined) return []; // logs are only removed together with their trace
  const page: Placed[] = [];
  for (let at = previous + 1; at < placed.length && page.length < limit; at++) {
    const { log } = placed[at]!;
    if ((!types || types.includes(log.type)) && (status == null || status === log.status))
      page.push(placed[at]!);
  }
  const rows = await Promise.all(page.map(({ log }) => findLogRow(context, log.id))); // with those of other traces
  for (const [at, row] of rows.entries()) if (row) places.set(row, { ...page[at]!, tree });
  return rows.filter((row) => row !== null); // without those that have just been removed
}
