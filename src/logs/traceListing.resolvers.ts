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
import { logsIn, type Place } from "./walk.resolvers.ts";

type Filter = Partial<LogFilter>;

/** Rows that are examined in one turn. */
const STEP_ROWS = 500;

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
  return found(matches, ids, await context.em.find(Trace, { id: { $in: ids } }));
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
  for (;;) {
    let query = database.read
      .selectFrom("Trace")
      .select(["startTime as startTime", "id as id"])
      .where("workspace", "=", workspaceId)
      .orderBy("startTime", "desc")
      .orderBy("id", "desc")
      .limit(limit);
    if (last)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("startTime", "id"), "<", tuple(last!.startTime, last!.id)),
      );
    if (downTo) query = query.where("startTime", ">=", downTo.startTime);
    const page = await database.rows(query);
    const visible = await visibleAmong(
      { context, workspaceId, filter },
      page.map(({ id }) => id),
    );
    for (const { id, startTime } of page)
      if (matches.length < limit && visible.has(id))
        matches.push({ id, startTime, trace: id, searchId: null });
    if (matches.length === limit || page.length < limit) return matches;
    last = page.at(-1)!;
    await database.turn(workspaceId);
    checkDeadline(context);
  }
}

async function visibleAmong({ context, workspaceId }: Source, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { database } = context;
  const logs = database.read.selectFrom("Log").where("workspace", "=", workspaceId).where("trace", "in", ids);
  const hasLogs = await database.rows(logs.select("trace as trace").distinct());
  const visible = await database.rows(
    logs.select("trace as trace").where("type", "<>", "internal").distinct(),
  );
  const hiddenIds = new Set(hasLogs.map(({ trace }) => trace));
  for (const { trace } of visible) hiddenIds.delete(trace);
  return new Set(ids.filter((id) => !hiddenIds.has(id)));
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
  let remaining = logs.map(({ trace }) => trace);
  let last = { trace: "", id: "" };
  while (remaining.length > 0) {
    const lead = { workspaceId, by: {} };
    let query = logsIn(context, lead, { ...rangeOf(context, { to: filter.to ?? null }, null), downTo: place })
      .where("trace", "in", remaining)
      .select(["trace as trace", "id as id", "startTime as startTime", "searchId as searchId"])
      .orderBy("trace")
      .orderBy("id")
      .limit(STEP_ROWS);
    for (const condition of [...conditionsOf(context, filter, lead), ...hidden(filter)])
      query = query.where(condition);
    if (last.id)
      query = query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("trace", "id"), ">", tuple(last.trace, last.id)),
      );
    const page = await database.rows(query);
    let some: Match[] = words === null ? page : await havingWords(search, words, page);
    if (filter.metadata?.length) some = await havingMembers(context, workspaceId, { filter, logs: some });
    for (const { trace } of some) listed.add(trace);
    if (page.length < STEP_ROWS) break;
    last = page.at(-1)!;
    remaining = remaining.filter((trace) => trace >= last.trace && !listed.has(trace));
    await database.turn(workspaceId);
    checkDeadline(context);
  }
  return listed;
}
