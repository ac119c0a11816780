import type { Expression, Kysely, RawBuilder, SqlBool } from "kysely";

/** By what a full-text index knows a log. */
export type Key = string | number;

/** A member of a JSON object. */
export interface Member {
  key: string;
  value: string | number | boolean | null;
}

/** How logs are found by their words and their metadata; each database has a way of its own to the same answers. */
export interface Search<Query = unknown> {
  /** The property of a log by which the full-text index knows it. */
  readonly key: "searchId" | "id";

  /**
   * What the full-text index is asked for: all words of a text, in one workspace. Words are runs of letters and digits
   * in any case; those between double quotes must stand in that order, and one that ends in * may go on.
   */
  query(workspaceId: string, text: string): Query;

  /** The keys of what a query finds, up to `most`; for `lookUp`. */
  keys(query: Query, most: number): RawBuilder<{ key: Key }>;

  /** Runs a query for keys. */
  lookUp<DB>(read: Kysely<DB>, query: RawBuilder<{ key: Key }>): Promise<Key[]>;

  /** Whether a query finds the log with a key; costs a look-up in the index for each. */
  isFound(query: Query, key: Expression<unknown>): Expression<SqlBool>;

  /**
   * Whether a query finds the log with a key that lies in a range; costs about as much as all that it finds in there.
   * Absent where keys are no numbers.
   */
  isFoundWithin?(
    query: Query,
    key: Expression<unknown>,
    range: { lowest: number; highest: number },
  ): Expression<SqlBool>;

  /** The keys of the logs whose metadata has all these members, up to `most`; absent where no index has them. */
  keysByMembers?(workspaceId: string, members: Member[], most: number): RawBuilder<{ key: Key }>;

  /** Whether a JSON object has a member of that name with that value. */
  hasMember(object: Expression<unknown>, member: Member): Expression<SqlBool>;

  /** A column for a condition that no index is to be chosen by. */
  unindexed<T>(column: Expression<T>): Expression<T>;

  /** Whether a column that an index of logs begins with has a value, however long it is. */
  leads(column: Expression<unknown>, value: string): Expression<SqlBool>;
}
