import type { Transaction } from "kysely";

/** Rows of one entity, with the statement that inserts one of them. */
export interface Insert {
  entity: string;
  /** Of the values of each row, in their order. */
  fields: string[];
  statement: string;
  rows: unknown[][];
}

/** What a database stores beside the rows of an entity, in the same transaction. */
export type InsertAlong = (
  transaction: Transaction<never>,
  entity: string,
  rows: Record<string, unknown>[],
) => Promise<void>;
