import type { Context } from "../context.ts";
import { createCommitCache } from "../database/commitCache.ts";
import { createLoader } from "../database/loader.ts";
import { pace } from "../database/pace.ts";
import type { Page } from "../database/pages.ts";
import { runWithPauses } from "../database/pauses.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { tokenParts } from "../usage/tokenParts.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import type { LogRecord, PlaceInTrace, TraceRecord } from "./entities.ts";
import { type Rollup, rollupAt, type SummedLog, type Sums, sumUp } from "./rollups.ts";
import { findLogRows, spendLongTexts } from "./rows.resolvers.ts";
import { growTree, NONE, type Tree, withPauses } from "./tree.ts";

/** What a page of a trace is chosen by. */
type ListedLog = Pick<SummedLog, "id" | "startMs" | "type" | "status">;

/** A trace as a tree. */
export interface TraceTree extends Omit<Tree, "logs"> {
  logs: ListedLog[];
  /** About what it takes in memory. */
  bytes: number;
  /** When the trace began, in milliseconds since 1970. */
  startMs: number;
  sums: Sums;
  /** Sums over all of its logs. */
  total: Rollup;
  /** The first log at the top whose parent is not missing. */
  root: ListedLog | undefined;
  /** Whether no parent is missing. Looked for once: 9,000 fields of a trace of 99,000 logs took 0.6 s. */
  isComplete: boolean;
  /** Where a log stands in `logs`. */
  placeOf: (id: string) => number | undefined;
}

/** SQLite reads 2,000 logs that are not in memory yet in 90 ms, and 500 in 30 ms. Other requests run between pages. */
const PAGE_LOGS = 500;
/** What a log takes in memory while its tree is needed: an answer of 32 MB then has trees of 100,000 logs. */
const TREE_LOG_BYTES = 320;
/** A log also counts as a part of its tree. An event of a subscription, with its 1 MB, has room for a page of 2,000. */
const LISTED_LOG_BYTES = 100;
/** Examining that many takes less than 0.1 ms. */
const EXAMINED_LOGS = 5_000;
/** A page takes as long as so many fields beside its logs, and a field as long as looking at so many logs. */
const PAGE_FIELDS = 100;
const LOGS_OF_FIELD = 100;

const externalIds = ["externalId", "parentExternalId", "remoteParentId"] as const;
const columns = [...["id", "type", "status", "cost", "costSource", ...tokenParts], ...externalIds] as const;

/** Each page of a trace needs the whole tree, and reading that takes longer than all else of the page. */
const cachedTrees = createCommitCache<TraceTree>();

/** The trees of the traces with these ids, each read once for all fields of an operation that need it; reads no payload. */
const readTree = createLoader<string, TraceTree>(async (context, traceIds) => {
  const cache = cachedTrees(context.database, authenticated(context).workspaceId);
  const trees = new Map(traceIds.map((id) => [id, cache.get(id)]));
  for (const tree of trees.values()) if (tree) spendAnswerBytes(context, tree.bytes);
  const missing = traceIds.filter((id) => !trees.get(id));
  const fresh = missing.length > 0 ? await readTrees(context, missing) : [];
  for (const [n, tree] of fresh.entries()) {
    trees.set(missing[n]!, tree);
    cache.set(missing[n]!, tree);
  }
  return traceIds.map((id) => trees.get(id)!);
});

async function readTrees(context: Context, traceIds: string[]): Promise<TraceTree[]> {
  const starts = await readStarts(context, traceIds);
  const logs = await readLogs(context, traceIds);
  const traces = traceIds.map((id) => ({ logs: logs.get(id)!, startMs: starts.get(id) ?? 0 }));
  return runWithPauses(context, authenticated(context).workspaceId, toTrees(traces));
}

function* toTrees(traces: { logs: SummedLog[]; startMs: number }[]): Generator<void, TraceTree[]> {
  const trees: TraceTree[] = [];
  for (const { logs, startMs } of traces) trees.push(yield* toTree(logs, startMs));
  return trees;
}

function* toTree(all: SummedLog[], startMs: number): Generator<void, TraceTree> {
  const tree = yield* growTree(all);
  const sums = yield* sumUp(tree);
  const logs: ListedLog[] = [];
  let root: ListedLog | undefined;
  yield* withPauses(tree.logs, ({ id, startMs, type, status }, at) => {
    logs.push({ id, startMs, type, status });
    if (tree.depths[at] === 0 && tree.missingParents[at] === 0) root ??= logs[at];
  });
  let places: Map<string, number> | undefined; // pages without `after` do not need it
  const placeOf = (id: string) => {
    places ??= new Map(logs.map((log, place) => [log.id, place]));
    return places.get(id);
  };
  const [total, bytes] = [rollupAt(sums, logs.length), all.length * TREE_LOG_BYTES];
  const isComplete = !tree.missingParents.includes(1);
  return { ...tree, logs, startMs, sums, total, bytes, root, isComplete, placeOf };
}

async function readStarts({ database, access }: Context, traceIds: string[]): Promise<Map<string, number>> {
  const query = database.read
    .selectFrom("Trace")
    .select(["id as id", "startTime as startTime"])
    .where("workspace", "=", database.search.unestimated(access!.workspaceId))
    .where("id", "in", traceIds);
  const starts = await database.rows(query);
  return new Map(starts.map(({ id, startTime }) => [id, new Date(startTime).getTime()]));
}

type Row = SummedLog & { trace: string };

async function readLogs(context: Context, traceIds: string[]): Promise<Map<string, SummedLog[]>> {
  const { rows } = context.database;
  const query = logsQuery(context);
  const all = new Map(traceIds.map((id) => [id, [] as SummedLog[]]));
  for (let left = traceIds; left.length > 0; ) {
    const page = await rows(query.select("trace as trace").where("trace", "in", left).$castTo<Row>());
    for (const log of page) all.get(log.trace)!.push(withNumbers(log));
    spendLogs(context, page);
    const end = page[PAGE_LOGS - 1];
    if (!end) break;
    await readRest(context, end.trace, all.get(end.trace)!);
    left = left.filter((id) => id > end.trace);
  }
  return all;
}

/** Reads the rest of a trace whose first logs are there. */
async function readRest(context: Context, traceId: string, logs: SummedLog[]): Promise<void> {
  const { workspaceId } = authenticated(context);
  const { rows, turn } = context.database;
  const { id } = logs.at(-1)!;
  // Compiled once: only its parameters differ between pages, and compiling takes a quarter of the time of reading one.
  const compiled = logsQuery(context).where("trace", "=", traceId).where("id", ">", id).compile();
  for (let last = id; ; ) {
    await turn(workspaceId);
    checkDeadline(context);
    const parameters = [workspaceId, traceId, last, PAGE_LOGS];
    const page = await rows<SummedLog>({ compile: () => ({ ...compiled, parameters }) });
    spendLogs(context, page);
    for (const log of page) logs.push(withNumbers(log));
    if (page.length < PAGE_LOGS) return;
    last = page[PAGE_LOGS - 1]!.id;
  }
}

function spendLogs(context: Context, page: SummedLog[]): void {
  spendAnswerBytes(context, page.length * TREE_LOG_BYTES);
  spendLongTexts(context, page, externalIds);
}

function logsQuery(context: Context) {
  const { workspaceId } = authenticated(context);
  const { read, search } = context.database;
  return read
    .selectFrom("Log")
    .select(columns.map((column) => `${column as "id"} as ${column as "id"}` as const))
    .select("startTime as startMs")
    .where("workspace", "=", search.unestimated(workspaceId))
    .orderBy("trace")
    .orderBy("id")
    .limit(PAGE_LOGS)
    .$castTo<SummedLog>();
}

/** PostgreSQL returns times as dates. */
function withNumbers<Row extends SummedLog>(row: Row): Row {
  row.startMs = Number(row.startMs);
  return row;
}

/** The tree of a trace. */
export function treeOfTrace(context: Context, { id }: Pick<TraceRecord, "id">): Promise<TraceTree> {
  authenticated(context); // no scope: a writer may see the trace that its mutation added
  return readTree(context, id);
}

function placeIn(
  { logs, parents, depths, missingParents, sums, startMs }: TraceTree,
  at: number,
): PlaceInTrace {
  const parent = parents[at]!;
  return {
    parentId: parent === NONE ? null : logs[parent]!.id,
    depth: depths[at]!,
    missingParent: missingParents[at] === 1,
    offsetMs: logs[at]!.startMs - startMs,
    subtree: rollupAt(sums, at),
  };
}

/**
 * Reads from where a log stands in its trace; from undefined when it has just been removed or is hidden. At once where this is
 * known: a promise for each field of 2,000 logs takes longer than the fields.
 */
export function fromPlace<Value>(
  context: Context,
  log: LogRecord,
  read: (place: PlaceInTrace | undefined) => Value,
): Value | Promise<Value> {
  if ("place" in log) return read(log.place);
  const { id, trace } = log;
  return treeOfTrace(context, { id: typeof trace === "string" ? trace : trace.id }).then((tree) => {
    const at = tree.placeOf(id);
    return read(at === undefined ? undefined : placeIn(tree, at));
  });
}

interface LogsPage extends Page {
  types?: readonly string[] | null | undefined;
  status?: string | null | undefined;
}

/**
 * A page of the logs of a trace, in display order; takes its logs off the budget of the answer before it reads them. Other
 * requests run between many pages, and while one looks for some of its logs: 500 fields with types that do not occur among 99,000
 * logs took 0.7 s in one turn, 4,680 among 4,999 logs 1.1 s, and 4,700 pages of 180 logs 0.6 s. The tree is read before, once for
 * all of them.
 */
export async function logsOf(
  context: Context,
  parent: Pick<TraceRecord, "id">,
  { after, limit, types, status }: LogsPage,
): Promise<LogRecord[]> {
  const { workspaceId } = authenticated(context);
  const tree = await treeOfTrace(context, parent);
  const { logs } = tree;
  const previous = after === undefined ? -1 : tree.placeOf(after);
  if (previous === undefined) return []; // logs are only removed together with their trace
  if (types || status) await pace(context, Math.ceil((logs.length - previous) / LOGS_OF_FIELD));
  const page: number[] = [];
  for (let at = previous + 1, examined = 1; at < logs.length && page.length < limit; at++, examined++) {
    const log = logs[at]!;
    if ((!types || types.includes(log.type)) && (status == null || status === log.status)) page.push(at);
    if (examined % EXAMINED_LOGS > 0) continue;
    await context.database.turn(workspaceId);
    checkDeadline(context);
  }
  spendAnswerBytes(context, page.length * LISTED_LOG_BYTES);
  await pace(context, PAGE_FIELDS);
  const rows = await findLogRows(
    context,
    page.map((at) => logs[at]!.id),
  );
  for (const [n, row] of rows.entries()) if (row) row.place = placeIn(tree, page[n]!);
  return rows.filter((row) => row !== null); // without those that have just been removed
}
