import { type Expression, type SqlBool, sql } from "kysely";
import type { Context } from "../context.ts";
import type { Search } from "../database/search.ts";
import { badInput } from "../errors.ts";
import { PAGE } from "../paging.ts";
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
  if (place) return place;
  const kind = key === "id" ? "log" : "trace";
  throw badInput([{ path: "after", message: `is not the id of a ${kind} that is there` }]);
}

type Found = Place & { trace: string };
type Filter = Partial<LogFilter>;

async function findLogs(
  context: Context,
  workspaceId: string,
  filter: Filter,
  { after, most }: { after: Place | null; most: number },
): Promise<Found[]> {
  const search = filter.text ? await lookUp(context, workspaceId, filter.text) : null;
  const few = search ? search.few : await lookUpMembers(context, workspaceId, filter);
  if (few?.length === 0) return [];
  const lead = { workspaceId, by: few ? { keys: few } : narrowestOf(filter) };
  const conditions = conditionsOf(filter, lead, context.database.search);
  const range = rangeOf(context, filter, after);
  const isDirect = few !== null || (search === null && conditions.length === 0);
  const found: Found[] = [];
  for await (const stretch of isDirect ? [range] : stretches(context, lead, range)) {
    let query = logsIn(context, lead, stretch);
    for (const condition of conditions) query = query.where(condition);
    if (search?.many) query = query.where(await search.many(lead, stretch));
    const rows = query
      .select(["startTime as startTime", "id as id", "trace as trace"])
      .orderBy("startTime", "desc")
      .orderBy("id", "desc")
      .limit(most - found.length);
    found.push(...(await context.database.rows(rows)));
    if (found.length === most) break;
  }
  return found;
}

function rangeOf(context: Context, { from, to }: Filter, after: Place | null): Stretch {
  const end = to ? startOf(context, to) : null;
  const before = end && after ? (end.startTime <= after.startTime ? end : after) : (end ?? after);
  return { before, downTo: from ? startOf(context, from) : null };
}

/** Beyond so many hits it is better to go through the logs and look each stretch up. */
const FEW_HITS = 2_000;
/** Up to how many entries of the full-text index are read for a stretch, rather than looked up one by one. */
const NEAR = 40_000;

/** What the full-text index knows of a query: either all it finds, when that is few, or a condition for a stretch. */
async function lookUp({ database }: Context, workspaceId: string, text: string) {
  const { search } = database;
  const query = search.query(workspaceId, text);
  const keys = await search.lookUp(database.read, search.keys(query, FEW_HITS + 1));
  if (keys.length <= FEW_HITS) return { few: keys, many: null };
  const many = async (lead: Lead, stretch: Stretch): Promise<Condition> => {
    const within = await nearKeys(database, lead, stretch);
    return ({ ref }) =>
      within && search.isFoundWithin
        ? search.isFoundWithin(query, ref("searchId"), within)
        : search.isFound(query, ref(`Log.${search.key}`));
  };
  return { few: null, many };
}

/** The keys of all logs that have the metadata of a filter, where an index tells them and they are few; else null. */
async function lookUpMembers(
  { database: { read, search } }: Context,
  workspaceId: string,
  { metadata }: Filter,
) {
  if (!metadata?.length || !search.keysByMembers) return null;
  const keys = await search.lookUp(read, search.keysByMembers(workspaceId, metadata, FEW_HITS + 1));
  return keys.length <= FEW_HITS ? keys : null;
}

/** The range of the keys of a stretch, where they are numbers that lie close together; else null. */
async function nearKeys(database: Context["database"], lead: Lead, stretch: Stretch) {
  if (!database.search.isFoundWithin) return null;
  const [bounds] = await database.rows(
    logsIn({ database }, lead, stretch).select(({ fn }) => [
      fn.min("searchId").as("lowest"),
      fn.max("searchId").as("highest"),
    ]),
  );
  const range = { lowest: bounds?.lowest ?? 0, highest: bounds?.highest ?? 0 };
  // Logs arrive roughly in the order of their start, so those of a stretch mostly lie close together there too.
  return range.highest - range.lowest < NEAR ? range : null;
}

function narrowestOf({ userId, organizationId, slug }: Filter): Lead["by"] {
  if (userId != null) return { userId };
  if (organizationId != null) return { organizationId };
  return slug == null ? {} : { promptSlug: slug };
}

type Condition = (builder: LogBuilder) => Expression<SqlBool>;

/** What a filter asks of a log beyond its time, its words and what the lead stands for. */
function conditionsOf(filter: Filter, { by }: Lead, search: Search): Condition[] {
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
      value == null || column in by
        ? []
        : [({ eb, ref }) => eb(search.unindexed(ref(column as "tag")), "=", value)],
    ),
    ...limits.flatMap(([column, operator, value]): Condition[] =>
      value == null
        ? []
        : [({ eb }) => eb(column, operator, sql<number>`cast(${value} as double precision)`)],
    ),
    ...(metadata ?? []).map(
      (member): Condition =>
        ({ ref }) =>
          search.hasMember(ref("Log.metadata"), member),
    ),
  ];
}
