import type { Insertable, QueryExecutorProvider } from "kysely";

/** Rows with the names of their entities, parents first: all of them are stored, or none. */
export type Rows<DB> = { [Entity in keyof DB & string]: [Entity, Insertable<DB[Entity]>] }[keyof DB &
  string][];

/** Rows of one entity, with the statement that inserts one of them. */
export interface Insert {
  entity: string;
  /** The fields of each row, in the order of its values. */
  fields: string[];
  statement: string;
  rows: unknown[][];
}

/** Stores data that belongs to new rows, such as their words, in the same transaction. */
export type InsertAlong = (
  transaction: QueryExecutorProvider,
  entity: string,
  rows: Record<string, unknown>[],
) => Promise<void>;
