import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from "kysely";
import type { Database } from "./open.ts";

export type Tables = Database["read"] extends Kysely<infer DB> ? DB : never;
type Builder<Table extends keyof Tables> = ExpressionBuilder<Tables, Table>;

/** What holds of a row of a table. */
export type Condition<Table extends keyof Tables> = (builder: Builder<Table>) => Expression<SqlBool>;

/** Whether an expression has one of some values. */
export function isOneOf<Table extends keyof Tables>(
  expression: (builder: Builder<Table>) => Expression<unknown>,
  values: string[],
): Condition<Table> {
  // PostgreSQL has no empty list.
  return (builder) =>
    values.length === 0 ? sql<SqlBool>`false` : builder(expression(builder), "in", values);
}

/** How a filter combines others of its kind. */
interface Combining<Filter> {
  and?: Filter[] | null | undefined;
  or?: Filter[] | null | undefined;
  not?: Filter | null | undefined;
}

/** The conditions that `and`, `or` and `not` of a filter combine; `toConditions` returns those of each of their members. */
export function combinationsOf<Filter extends Combining<Filter>, Table extends keyof Tables>(
  { and, or, not }: Combining<Filter>,
  toConditions: (filter: Filter) => Condition<Table>[],
): Condition<Table>[] {
  const all =
    (filter: Filter): Condition<Table> =>
    (builder) => {
      const conditions = [...toConditions(filter), ...combinationsOf(filter, toConditions)];
      return builder.and(conditions.map((condition) => condition(builder)));
    };
  const any: Condition<Table> = (builder) => builder.or((or ?? []).map((one) => all(one)(builder)));
  // A comparison with nothing is unknown, not false: its opposite would be unknown, too.
  const none =
    (filter: Filter): Condition<Table> =>
    (builder) =>
      builder.not(sql<SqlBool>`coalesce(${all(filter)(builder)}, false)`);
  return [...(and ?? []).map(all), ...(or ? [any] : []), ...(not ? [none(not)] : [])];
}
