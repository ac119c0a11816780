import type { SelectQueryBuilder } from "kysely";
import type { Context } from "../context.ts";
import { inTurn } from "./lengths.ts";

/** Building a union of so many searches takes 3 ms. */
const MAX_IN_STATEMENT = 25;

/** What a search of an index finds for each key: a few of them in a statement, each statement in a turn of its workspace. */
export async function searchEach<DB, TB extends keyof DB, Row>(
  context: Context,
  keys: string[],
  searchOf: (key: string) => SelectQueryBuilder<DB, TB, Row>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let from = 0; from < keys.length; from += MAX_IN_STATEMENT) {
    const [first, ...others] = keys.slice(from, from + MAX_IN_STATEMENT).map(searchOf);
    const union = others.reduce((query, one) => query.unionAll(one), first!);
    found.push(...(await inTurn(context, () => context.database.rows(union))));
  }
  return found;
}
