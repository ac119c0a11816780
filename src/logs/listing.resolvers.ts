import type { Context } from "../context.ts";
import type { Page } from "../database/pages.ts";
import type { Key, Search } from "../database/search.ts";
import { storedTime } from "../database/times.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Log } from "./entities.ts";
import type { LogConditions, LogFilter } from "./filter.inputs.ts";
import { type Condition, conditionsOf, narrowestOf } from "./filter.resolvers.ts";
import { hasHeavyMetadata, havingMembers, membersOf } from "./members.resolvers.ts";
import {
  examinedRows,
  hasLead,
  type Lead,
  logsIn,
  type Place,
  type Stretch,
  startOf,
  stretches,
} from "./walk.resolvers.ts";

/** An entry of a list of logs or traces, and where it is in the list. */
export interface Found<Entity> {
  /** Null when it was removed while the page was read. */
  entity: Entity | null;
  place: Place;
}

export type LogsPage = Page & { filter?: LogFilter | null | undefined };

/** A page of the logs that match a filter, the newest first. */
export async function logs(context: Context, page: LogsPage): Promise<Found<Log>[]> {
  const matches = await matchesIn(context, page);
  const ids = matches.map(({ id }) => id);
  const filters = context.database.search.unestimatedFilter(authorize(context, "read"));
  return found(matches, ids, await context.em.find(Log, { id: { $in: ids } }, { filters }));
}

export function found<Entity extends { id: string }>(matches: Match[], ids: string[], entities: Entity[]) {
  const byId = new Map(entities.map((entity) => [entity.id, entity]));
  return ids.map((id, at): Found<Entity> => ({ entity: byId.get(id) ?? null, place: matches[at]! }));
}

/** The sort key of a log: the time at which it began, in milliseconds since 1970, and its id. */
export const keyOf = ({ startTime, id }: Place): string => `${new Date(startTime).getTime()} ${id}`;

export function placeOf({ database }: Context, key: string): Place {
  const [ms, id] = key.split(" ") as [string, string];
  return { startTime: storedTime(database, new Date(Number(ms))), id };
}

async function matchesIn(context: Context, { filter, limit, after }: LogsPage) {
  const workspaceId = authorize(context, "read");
  const place = after === undefined ? null : placeOf(context, after);
  return findLogs(context, workspaceId, filter ?? {}, { after: place, limit });
}

export type Match = Place & { trace: string; searchId: number | null };
type Filter = Partial<LogFilter>;

/** Logs that match a filter, the newest first, after a place. */
export async function findLogs(
  context: Context,
  workspaceId: string,
  filter: Filter,
  { after, limit }: { after: Place | null; limit: number },
): Promise<Match[]> {
  const { search } = context.database;
  const words = filter.text ? search.query(workspaceId, filter.text) : null;
  const few = await fewKeys(search, workspaceId, filter, words);
  if (few?.length === 0) return [];
  const lead: Lead = { workspaceId, by: few ? { keys: few } : narrowestOf(filter) };
  const own = conditionsOf(context, filter, lead);
  const conditions = [...own, ...hidden(filter)];
  const range = rangeOf(context, filter, after);
  // An index answers some filters alone, in one read; for the others logs are examined stretch by stretch.
  const isIndexed = few !== null || (words === null && conditions.length === 0 && !filter.metadata?.length);
  const matches: Match[] = [];
  for await (const stretch of isIndexed ? [range] : stretches(context, lead, range)) {
    const isHeavy = await hasHeavyMetadata(context, filter, logsIn(context, lead, stretch));
    const members = isHeavy ? [] : membersOf(filter, search);
    const query = inOrderOfTime(context, lead, stretch, [...conditions, ...members]);
    const hasWords = words !== null && !few;
    const readsAll = isHeavy || hasWords;
    const statement = readsAll ? query : query.limit(limit - matches.length);
    const isPlain = own.length === 0 && members.length === 0 && (few !== null || !hasLead(lead));
    let some = isPlain
      ? await context.database.rows(statement)
      : await examinedRows(context, workspaceId, statement);
    if (hasWords) some = await havingWords(search, words, some);
    if (isHeavy) some = await havingMembers(context, workspaceId, { filter, logs: some });
    matches.push(...some.slice(0, limit - matches.length));
    if (matches.length === limit) break;
  }
  return matches;
}

/** Leaves out calls of client libraries to Gabbro, unless a filter names their type. */
export const hidden = (filter: LogConditions): Condition[] =>
  namesInternal(filter) ? [] : [({ eb }) => eb("type", "<>", "internal")];

const namesInternal = ({ type, and, or }: LogConditions): boolean =>
  Boolean(type?.includes("internal")) || [...(and ?? []), ...(or ?? [])].some(namesInternal);

/** Above this number of matches it is faster to walk the logs and check each stretch. */
const FEW = 2_000;

/** The keys of all logs that have the words of a filter, or else its metadata; null without an index or above FEW. */
async function fewKeys(
  search: Search,
  workspaceId: string,
  { metadata }: Filter,
  words: unknown,
): Promise<Key[] | null> {
  const keys =
    words !== null
      ? await search.find(words, FEW + 1)
      : metadata?.length
        ? await search.findByMembers?.(workspaceId, metadata, FEW + 1)
        : undefined;
  return keys && keys.length <= FEW ? keys : null;
}

function inOrderOfTime(context: Context, lead: Lead, stretch: Stretch, conditions: Condition[]) {
  let query = logsIn(context, lead, stretch);
  for (const condition of conditions) query = query.where(condition);
  return query
    .select(["startTime as startTime", "id as id", "trace as trace", "searchId as searchId"])
    .orderBy("startTime", "desc")
    .orderBy("id", "desc");
}

export async function havingWords(search: Search, words: unknown, logs: Match[]): Promise<Match[]> {
  const matching = await search.filterKeys(
    words,
    logs.flatMap((log) => log[search.key] ?? []),
  );
  return logs.filter((log) => matching.has(log[search.key] ?? ""));
}

export function rangeOf(context: Context, { from, to }: Filter, after: Place | null): Stretch {
  const end = to ? startOf(context, to) : null;
  const before = end && after ? (end.startTime <= after.startTime ? end : after) : (end ?? after);
  return { before, downTo: from ? startOf(context, from) : null };
}
