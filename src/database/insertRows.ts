import { type Kysely, sql } from "kysely";
import { withVersions } from "./datasetVersions.ts";
import type { createEncoder } from "./encode.ts";
import type { Insert, InsertAlong, Rows } from "./inserts.ts";

type Encoder = ReturnType<typeof createEncoder>;

/** SQLite takes 32,766 values in a statement, PostgreSQL twice as many. */
const MAX_STATEMENT_VALUES = 30_000;

type Along = Record<"insertAlong" | "tellOthers", InsertAlong>;

/** Inserts rows in a transaction, those of each entity with one statement or a few. */
export function createInsert<DB>(encode: Encoder, { insertAlong, tellOthers }: Along) {
  return async (transaction: Kysely<DB>, rows: Rows<DB>): Promise<void> => {
    const byEntity = Map.groupBy(rows, ([name]) => name)
      .entries()
      .map(([entity, group]) => [entity, group.map(([, row]) => row as Record<string, unknown>)] as const)
      .toArray();
    for (const [entity, group] of byEntity) {
      const plain = await withVersions(transaction, entity, group);
      for (const chunk of inStatements(plain.map(encode(entity))))
        await transaction
          .insertInto(entity)
          .values(chunk as never) // each entity has its own columns, which the encoder has written
          .execute();
      await insertAlong(transaction, entity, plain);
    }
    for (const [entity, plain] of byEntity) await tellOthers(transaction, entity, plain);
  };
}

/** Inserts in a transaction of its own, which begins with `statements`. */
export function insertTogether<DB>(
  database: Kysely<DB>,
  insert: (transaction: Kysely<DB>, rows: Rows<DB>) => Promise<void>,
  statements: string[],
) {
  return (rows: Rows<DB>): Promise<void> =>
    database.transaction().execute(async (transaction) => {
      for (const statement of statements) await sql.raw(statement).execute(transaction);
      await insert(transaction, rows);
    });
}

/** Makes the inserts of rows one by one, with statements that are prepared once. */
export function insertsOf<DB>(encode: Encoder, sqlOf: (entity: string, fields: string[]) => string) {
  const toInserts = ([entity, group]: [string, Rows<DB>]): Insert[] => {
    const encodeRow = encode(entity);
    const rows = group.map(([, row]) => encodeRow(row as Record<string, unknown>));
    const alike = Map.groupBy(rows, (row) => Object.keys(row).join());
    return [...alike.values()].map((group) => {
      const fields = Object.keys(group[0]!);
      return {
        ...{ entity, fields },
        statement: sqlOf(entity, fields),
        rows: group.map((row) => Object.values(row)),
      };
    });
  };
  return (rows: Rows<DB>): Insert[] => [...Map.groupBy(rows, ([name]) => name as string)].flatMap(toInserts);
}

function* inStatements(rows: Record<string, unknown>[]) {
  const columns = Math.max(...rows.map((row) => Object.keys(row).length));
  const maxRows = Math.floor(MAX_STATEMENT_VALUES / columns);
  for (let from = 0; from < rows.length; from += maxRows) yield rows.slice(from, from + maxRows);
}
