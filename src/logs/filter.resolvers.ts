import { type Expression, type SqlBool, sql } from "kysely";
import type { Context } from "../context.ts";
import { storedTime } from "../database/times.ts";
import type { LogCondition } from "./filter.inputs.ts";
import type { Lead, LogBuilder } from "./walk.resolvers.ts";

export type Condition = (builder: LogBuilder) => Expression<SqlBool>;
type Conditions = Partial<LogCondition>;

/** The index along which a filter's logs are read: those of its only user, organization or prompt, else by time. */
export function narrowestOf({ userId, organizationId, slug }: Conditions): Lead["by"] {
  if (userId?.length === 1) return { userId: userId[0]! };
  if (organizationId?.length === 1) return { organizationId: organizationId[0]! };
  return slug?.length === 1 ? { promptSlug: slug[0]! } : {};
}

/** The conditions of a filter other than its words, its metadata, and what its lead and its range hold already. */
export function conditionsOf({ database }: Context, filter: Conditions, { by }: Lead): Condition[] {
  const { slug, userId, organizationId, version, tag, type, model, status } = filter;
  const { minCost, maxCost, minLatencyMs, maxLatencyMs } = filter;
  const among = Object.entries({
    promptSlug: slug,
    userId,
    organizationId,
    version,
    tag,
    type,
    model,
    status,
  });
  const limits = [
    ["cost", ">=", minCost],
    ["cost", "<=", maxCost],
    ["latencyMs", ">=", minLatencyMs],
    ["latencyMs", "<=", maxLatencyMs],
  ] as const;
  const each = (some: LogCondition[]) => some.map((one) => nested(database, one));
  const { and = [], or, not } = filter;
  return [
    ...among.flatMap(([column, values]): Condition[] =>
      values == null || column in by
        ? []
        : [
            ({ eb, ref }) =>
              values.length === 0
                ? sql<SqlBool>`false` // PostgreSQL has no empty list
                : eb(database.search.unindexed(ref(column as "tag")), "in", values),
          ],
    ),
    ...limits.flatMap(([column, operator, value]): Condition[] =>
      value == null
        ? []
        : [({ eb }) => eb(column, operator, sql<number>`cast(${value} as double precision)`)],
    ),
    ...each(and ?? []),
    ...(or ? [(builder: LogBuilder) => builder.or(each(or).map((one) => one(builder)))] : []),
    // A comparison with nothing is unknown, not false: its opposite would be unknown, too.
    ...(not
      ? [
          (builder: LogBuilder) =>
            builder.not(sql<SqlBool>`coalesce(${nested(database, not)(builder)}, false)`),
        ]
      : []),
  ];
}

/** A condition in another one, which has no index and no range of its own. */
function nested(database: Context["database"], condition: LogCondition): Condition {
  const { from, to } = condition;
  const within = conditionsOf({ database } as Context, condition, { workspaceId: "", by: {} });
  return (builder) =>
    builder.and([
      ...(from ? [builder("startTime", ">=", storedTime(database, from))] : []),
      ...(to ? [builder("startTime", "<", storedTime(database, to))] : []),
      ...within.map((one) => one(builder)),
    ]);
}
