import type { Expression, SqlBool } from "kysely";
import type { Context } from "../context.ts";
import { fullTextQuery, hasMember, unindexed } from "../database/search.ts";
import { atCursor, PAGE } from "../paging.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Log, Trace } from "./entities.ts";
import type { LogFilter, LogsInput } from "./listing.inputs.ts";
import {
  type Lead,
  type LogBuilder,
  logsIn,
  type Place,
  type Stretch,
  startOf,
  stretches,
} from "./walk.resolvers.ts";

/** A page of the logs that a filter lets through, the newest first. */
export async function logs(context: Context, input: LogsInput): Promise<Log[]> {
  const found = await page(context, input, "id");
  const ids = found.map(({ id }) => id);
  return inOrder(ids, await context.em.find(Log, { id: { $in: ids } }));
}

/** A page of the traces that have a log which a filter lets through, the newest first. */
export async function traces(context: Context, input: LogsInput): Promise<Trace[]> {
  const found = await page(context, input, "trace");
  const ids = found.map(({ trace }) => trace); // a trace has one log, so none comes twice
  return inOrder(ids, await context.em.find(Trace, { id: { $in: ids } }));
}

function inOrder<Entity extends { id: string }>(ids: string[], entities: Entity[]): Entity[] {
  const byId = new Map(entities.map((entity) => [entity.id, entity]));
  return ids.flatMap((id) => byId.get(id) ?? []); // one may have been pruned since it was found
}

async function page(context: Context, { filter, first, after }: LogsInput, key: "id" | "trace") {
  const workspaceId = authorize(context, "read");
  const place = after ? await getPlace(context, workspaceId, key, after) : null;
  return findLogs(context, workspaceId, filter ?? {}, { after: place, most: first ?? PAGE });
}

async function getPlace(
  { database }: Context,
  workspaceId: string,
  key: "id" | "trace",
  id: string,
): Promise<Place> {
  const [place] = await database.rows(
    database.read
      .selectFrom("Log")
      .select(["startTime as startTime", "id as id"])
      .where("workspace", "=", workspaceId)
      .where(key, "=", id),
  );
  return atCursor(place, key === "id" ? "id of a log" : "id of a trace");
}

type Found = Place & { trace: string; searchId: number | null };
type Filter = Partial<LogFilter>;

async function findLogs(
  context: Context,
  workspaceId: string,
  filter: Filter,
  { after, most }: { after: Place | null; most: number },
): Promise<Found[]> {
  const { rows, search } = context.database;
  const words = filter.text ? fullTextQuery(workspaceId, filter.text) : null;
  const hits = words ? await search.latest(words, FEW_HITS + 1) : null;
  if (hits?.length === 0) return [];
  const few = hits && hits.length <= FEW_HITS ? hits : null;
  const lead: Lead = { workspaceId, by: few ? { searchId: few } : narrowestOf(filter) };
  const conditions = conditionsOf(filter, lead);
  const range = rangeOf(context, filter, after);
  // What an index leads to is read in one go; what must be looked at first is looked at stretch by stretch.
  const isLed = few !== null || (words === null && conditions.length === 0);
  const found: Found[] = [];
  for await (const stretch of isLed ? [range] : stretches(context, lead, range)) {
    const fitting = inOrderOfTime(context, lead, stretch, conditions);
    const some =
      words && !few
        ? await havingWords(search, words, await rows(fitting))
        : await rows(fitting.limit(most - found.length));
    found.push(...some.slice(0, most - found.length));
    if (found.length === most) break;
  }
  return found;
}

function inOrderOfTime(context: Context, lead: Lead, stretch: Stretch, conditions: Condition[]) {
  let query = logsIn(context, lead, stretch);
  for (const condition of conditions) query = query.where(condition);
  return query
    .select(["startTime as startTime", "id as id", "trace as trace", "searchId as searchId"])
    .orderBy("startTime", "desc")
    .orderBy("id", "desc");
}

async function havingWords(
  search: Context["database"]["search"],
  words: string,
  logs: Found[],
): Promise<Found[]> {
  const entries = logs.flatMap(({ searchId }) => searchId ?? []);
  const known = await search.among(words, entries);
  return logs.filter(({ searchId }) => searchId !== null && known.has(searchId));
}

/** Beyond so many hits it is better to go through the logs and look each stretch up. */
const FEW_HITS = 2_000;

function rangeOf(context: Context, { from, to }: Filter, after: Place | null): Stretch {
  const end = to ? startOf(context, to) : null;
  const before = end && after ? (end.startTime <= after.startTime ? end : after) : (end ?? after);
  return { before, downTo: from ? startOf(context, from) : null };
}

function narrowestOf({ userId, organizationId, slug }: Filter): Lead["by"] {
  if (userId != null) return { userId };
  if (organizationId != null) return { organizationId };
  return slug == null ? {} : { promptSlug: slug };
}

type Condition = (builder: LogBuilder) => Expression<SqlBool>;

/** What a filter asks of a log beyond its time, its words and what the lead stands for. */
function conditionsOf(filter: Filter, { by }: Lead): Condition[] {
  const { slug, minCost, maxCost, minLatencyMs, maxLatencyMs } = filter;
  const { userId, organizationId, version, tag, type, metadata } = filter;
  const equal = Object.entries({ promptSlug: slug, userId, organizationId, version, tag, type });
  const limits = [
    ["cost", ">=", minCost],
    ["cost", "<=", maxCost],
    ["latencyMs", ">=", minLatencyMs],
    ["latencyMs", "<=", maxLatencyMs],
  ] as const;
  return [
    ...equal.flatMap(([column, value]): Condition[] =>
      value == null || column in by ? [] : [({ eb, ref }) => eb(unindexed(ref(column as "tag")), "=", value)],
    ),
    ...limits.flatMap(([column, operator, value]): Condition[] =>
      value == null ? [] : [({ eb }) => eb(column, operator, value)],
    ),
    ...(metadata ?? []).map(
      (member): Condition =>
        ({ ref }) =>
          hasMember(ref("Log.metadata"), member),
    ),
  ];
}
