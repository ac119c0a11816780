import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Trace } from "./entities.ts";
import type { LogFilter } from "./filter.inputs.ts";
import { conditionsOf } from "./filter.resolvers.ts";
import {
  type Found,
  findLogs,
  found,
  havingWords,
  hidden,
  type LogsPage,
  type Match,
  placeOf,
  rangeOf,
} from "./listing.resolvers.ts";
import { havingMembers } from "./members.resolvers.ts";
import { examinedRows, logsOfTraces, type Place } from "./walk.resolvers.ts";

type Filter = Partial<LogFilter>;

/** Traces that are read at least, once those of a page are too few. */
const FURTHER_TRACES = 100;
/** Rows that are examined in one turn. */
const STEP_ROWS = 500;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * A page of the traces with a log that matches a filter, the newest first: each at the time of its newest match, or without a
 * filter at its own.
 */
export async function traces(context: Context, { filter, limit, after }: LogsPage): Promise<Found<Trace>[]> {
  const workspaceId = authorize(context, "read");
  const source = { context, workspaceId, filter: filter ?? {} };
  const place = after === undefined ? null : placeOf(context, after);
  const matches = await (isOnlyOfTime(source.filter)
    ? byTime(source, limit, place)
    : byLogs(source, limit, place));
  const ids = matches.map(({ trace }) => trace);
  const filters = context.database.search.unestimatedFilter(workspaceId);
  return found(matches, ids, await context.em.find(Trace, { id: { $in: ids } }, { filters }));
}

interface Source {
  context: Context;
  workspaceId: string;
  filter: Filter;
}

const isOnlyOfTime = ({ from: _, to: __, ...filter }: Filter) =>
  Object.values(filter).every((value) => value == null);

/** Traces by their own time, but for those that only hold calls of client libraries to Gabbro. */
async function byTime({ context, workspaceId, filter }: Source, limit: number, after: Place | null) {
  const { database } = context;
  const { before, downTo } = rangeOf(context, filter, after);
  const matches: Match[] = [];
  let last = before;
  let size = limit;
  for (;;) {
    let query = database.read
      .selectFrom("Trace")
      .select(["startTime as startTime", "id as id"])
      .select(({ selectFrom }) =>
        selectFrom("Log")
          .select("Log.type")
          .where("Log.workspace", "=", database.search.unestimated(workspaceId))
          .whereRef("Log.trace", "=", "Trace.id")
          .orderBy("Log.id")
          .limit(1)
          .as("firstType"),
      )
      .where("workspace", "=", workspaceId)
      .orderBy("startTime", "desc")
      .orderBy("id", "desc")
      .limit(size);
    if (last)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("startTime", "id"), "<", tuple(last!.startTime, last!.id)),
      );
    if (downTo) query = query.where("startTime", ">=", downTo.startTime);
    const page = await database.rows(query);
    const doubtful = page.filter(({ firstType }) => firstType === "internal");
    const unlisted = await onlyInternal(
      { context, workspaceId, filter },
      doubtful.map(({ id }) => id),
    );
    for (const { id, startTime } of page)
      if (matches.length < limit && !unlisted.has(id))
        matches.push({ id, startTime, trace: id, searchId: null });
    if (matches.length === limit || page.length < size) return matches;
    last = page.at(-1)!;
    size = Math.max(size, FURTHER_TRACES); // two at a time, 10,000 that are not listed took 3.8 s
    await database.turn(workspaceId);
    checkDeadline(context);
  }
}

/** The traces of which all logs are internal, among some whose first log is; at most 500 logs in a statement. */
async function onlyInternal({ context, workspaceId }: Source, traces: string[]): Promise<Set<string>> {
  const { database } = context;
  const internal = new Set(traces);
  let remaining = traces.toSorted();
  let after = FIRST_ID; // in the first trace that remains, whose other logs are then read before those of the rest
  while (remaining.length > 0) {
    const some = after === FIRST_ID ? remaining : remaining.slice(0, 1);
    const page = await database.rows(
      database.read
        .selectFrom("Log")
        .select(["trace as trace", "id as id", "type as type"])
        .where("workspace", "=", database.search.unestimated(workspaceId))
        .where("trace", "in", some)
        .where("id", ">", after)
        .orderBy("trace")
        .orderBy("id")
        .limit(STEP_ROWS),
    );
    for (const { trace, type } of page) if (type !== "internal") internal.delete(trace);
    const last = page[STEP_ROWS - 1];
    remaining = last
      ? remaining.filter((trace) => trace >= last.trace && internal.has(trace))
      : remaining.slice(some.length);
    after = last && remaining[0] === last.trace ? last.id : FIRST_ID;
    if (remaining.length === 0) break;
    await database.turn(workspaceId);
    checkDeadline(context);
  }
  return internal;
}

/** Traces at their newest logs that match; those whose newest match is on an earlier page are left out. */
async function byLogs(source: Source, limit: number, after: Place | null): Promise<Match[]> {
  const { context, workspaceId, filter } = source;
  const matches: Match[] = [];
  const seen = new Set<string>();
  let place = after;
  while (matches.length < limit) {
    const logs = await findLogs(context, workspaceId, filter, { after: place, limit: STEP_ROWS });
    const firsts = logs.filter(({ trace }) => !seen.has(trace) && seen.add(trace));
    const listed = after === null ? new Set() : await listedBefore(source, firsts, after);
    for (const match of firsts) if (matches.length < limit && !listed.has(match.trace)) matches.push(match);
    if (logs.length < STEP_ROWS) break;
    place = logs.at(-1)!;
    await context.database.turn(workspaceId);
    checkDeadline(context);
  }
  return matches;
}

/** The traces among those of these logs that have a match newer than a place, or at it. */
async function listedBefore(source: Source, logs: Match[], place: Place): Promise<Set<string>> {
  const { context, workspaceId, filter } = source;
  const { database } = context;
  const { search } = database;
  const words = filter.text ? search.query(workspaceId, filter.text) : null;
  const listed = new Set<string>();
  let step: Step = { traces: logs.map(({ trace }) => trace).toSorted(), after: FIRST_ID };
  while (step.traces.length > 0) {
    const end = await endOf(source, step);
    const whole = wholeTraces(step, end);
    const some = whole.length > 0 ? whole : [end!.trace];
    const stretch = { ...rangeOf(context, { to: filter.to ?? null }, null), downTo: place };
    let query = logsOfTraces(context, { workspaceId, traces: some }, stretch)
      .where("id", ">", step.after)
      .select(["trace as trace", "id as id", "startTime as startTime", "searchId as searchId"]);
    if (whole.length === 0) query = query.where("id", "<=", end!.id);
    for (const condition of [...conditionsOf(context, filter, { by: {} }), ...hidden(filter)])
      query = query.where(condition);
    const page = await examinedRows(context, workspaceId, query);
    let matching: Match[] = words === null ? page : await havingWords(search, words, page);
    if (filter.metadata?.length)
      matching = await havingMembers(context, workspaceId, { filter, logs: matching });
    for (const { trace } of matching) listed.add(trace);
    const isDone = whole.length > 0 || listed.has(end!.trace);
    const traces = isDone ? step.traces.slice(whole.length || 1) : step.traces;
    step = { traces, after: isDone ? FIRST_ID : end!.id };
    if (traces.length === 0) break;
    await database.turn(workspaceId);
    checkDeadline(context);
  }
  return listed;
}

type Reached = Pick<Match, "trace" | "id">;

interface Step {
  /** The traces that are left, in order. */
  traces: string[];
  /** The last log that was read of the first of them. */
  after: string;
}

/** The traces of which a step reads all logs that are left; none where the first has more than a step reads. */
function wholeTraces({ traces, after }: Step, end: Reached | null): string[] {
  const some = after === FIRST_ID ? traces : traces.slice(0, 1);
  return end ? some.filter((trace) => trace < end.trace) : some;
}

/**
 * The last log of a step, found in the index; null when all that are left fit into it. Few of them may match a filter. Bounded by the
 * id alone in one trace, as SQLite finds no place in its index by a pair: among 60,000 logs of 500 traces that took 1.8 s.
 */
async function endOf({ context, workspaceId }: Source, { traces, after }: Step): Promise<Reached | null> {
  const { database } = context;
  const query = database.read
    .selectFrom("Log")
    .select(["trace as trace", "id as id"])
    .where("workspace", "=", database.search.unestimated(workspaceId))
    .where("trace", "in", after === FIRST_ID ? traces : traces.slice(0, 1))
    .where("id", ">", after)
    .orderBy("trace")
    .orderBy("id")
    .offset(STEP_ROWS - 1)
    .limit(1);
  const [end] = await database.rows(query);
  return end ?? null;
}
