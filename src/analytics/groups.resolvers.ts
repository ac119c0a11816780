import type { Compilable, SelectQueryBuilder } from "kysely";
import type { Context } from "../context.ts";
import type { Condition } from "../logs/filter.resolvers.ts";
import { examinedRows, type Lead, logsIn, type Stretch, stretches } from "../logs/walk.resolvers.ts";

/** What logs are grouped by. */
export type Column = "promptSlug" | "version" | "model" | "userId" | "organizationId" | "status";

/** What a group counts beside its key: 32 MB are then some 300,000 users. It takes about twice as much memory. */
export const GROUP_BYTES = 64;

export type Logs = ReturnType<typeof logsIn>;

/** The logs of a period that meet the conditions, stretch by stretch, in parts that each have an index. */
export async function* partsOf(
  context: Context,
  lead: Lead,
  range: Stretch,
  conditions: Condition[],
): AsyncGenerator<Logs[]> {
  for await (const stretch of stretches(context, lead, range)) {
    const logs = logsIn(context, lead, stretch).where((builder) =>
      builder.and(conditions.map((condition) => condition(builder))),
    );
    yield context.database.search.summedParts.map((part) => logs.where(part));
  }
}

/** The rows of a statement over a part of a period. With a filter it looks at many logs for few. */
export const sumRows = <Row>(
  context: Context,
  { workspaceId, filter }: { workspaceId: string; filter?: object | null | undefined },
  statement: Compilable<Row>,
): Promise<Row[]> =>
  filter ? examinedRows(context, workspaceId, statement) : context.database.rows(statement);

/** Joins queries into one statement. */
export function unionAll<DB, TB extends keyof DB, Row>(
  queries: SelectQueryBuilder<DB, TB, Row>[],
): SelectQueryBuilder<DB, TB, Row> {
  return queries.reduce((all, query) => all.unionAll(query));
}

export const aliasOf = <Name extends Column>(column: Name) => `${column} as ${column}` as const;

export function keyOf(row: { [Name in Column]?: string | null }, columns: Column[]): string {
  return JSON.stringify(columns.map((column) => row[column] ?? null));
}

/** The group after which a page begins: how many logs it has, and its key. */
export function groupIn(sortKey: string): { logs: number; key: string } {
  const space = sortKey.indexOf(" ");
  return { logs: Number(sortKey.slice(0, space)), key: sortKey.slice(space + 1) };
}
