import { sql } from "kysely";
import type { Context } from "../context.ts";
import { combinationsOf, isOneOf, type Condition as TableCondition } from "../database/conditions.ts";
import { storedTime } from "../database/times.ts";
import type { LogConditions } from "./filter.inputs.ts";
import type { Lead, LogBuilder } from "./walk.resolvers.ts";

export type Condition = TableCondition<"Log">;

/** The index along which a filter's logs are read: those of its only user, organization or prompt, else by time. */
export function narrowestOf({ userId, organizationId, slug }: LogConditions): Lead["by"] {
  if (userId?.length === 1) return { userId: userId[0]! };
  if (organizationId?.length === 1) return { organizationId: organizationId[0]! };
  return slug?.length === 1 ? { promptSlug: slug[0]! } : {};
}

/** The conditions of a filter other than its words, its metadata, and what its lead and its range hold already. */
export function conditionsOf(
  { database }: Context,
  filter: LogConditions,
  { by }: Pick<Lead, "by">,
): Condition[] {
  return [
    ...flatConditions(database, filter, by),
    // A condition in another one has no index and no range of its own.
    ...combinationsOf(filter, (one) => [
      ...timeConditions(database, one),
      ...flatConditions(database, one, {}),
    ]),
  ];
}

function flatConditions(database: Context["database"], filter: LogConditions, by: Lead["by"]): Condition[] {
  const { slug, userId, organizationId, version, tag, type, model, status } = filter;
  const { minCost, maxCost, minLatencyMs, maxLatencyMs } = filter;
  const columns = { promptSlug: slug, userId, organizationId, version, tag, type, model, status };
  const limits = [
    ["cost", ">=", minCost],
    ["cost", "<=", maxCost],
    ["latencyMs", ">=", minLatencyMs],
    ["latencyMs", "<=", maxLatencyMs],
  ] as const;
  return [
    ...Object.entries(columns).flatMap(([column, values]): Condition[] =>
      values == null || column in by
        ? []
        : [isOneOf(({ ref }) => database.search.unindexed(ref(column as "tag")), values)],
    ),
    ...limits.flatMap(([column, operator, value]): Condition[] =>
      value == null
        ? []
        : [({ eb }) => eb(column, operator, sql<number>`cast(${value} as double precision)`)],
    ),
  ];
}

/** Without an index: for two periods of which one has to hold SQLite reads both whole, and sorts them. */
function timeConditions(database: Context["database"], { from, to }: LogConditions): Condition[] {
  const startTime = ({ ref }: LogBuilder) => database.search.unindexed(ref("startTime"));
  return [
    ...(from ? [(builder: LogBuilder) => builder(startTime(builder), ">=", storedTime(database, from))] : []),
    ...(to ? [(builder: LogBuilder) => builder(startTime(builder), "<", storedTime(database, to))] : []),
  ];
}
