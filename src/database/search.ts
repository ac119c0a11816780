import type { FilterOptions } from "@mikro-orm/core";
import type { Compilable, Expression, SqlBool } from "kysely";
import { GabbroError } from "../errors.ts";

/** The time limit of a search. */
export const SEARCH_LIMIT_MS = 5_000;

export const SEARCH_BUSY = "Too many searches are running. Try again in a while.";

/** The error for a search that reached its time limit. */
export function searchTookTooLong(cause?: unknown): GabbroError {
  const message = `The search took longer than ${SEARCH_LIMIT_MS / 1_000} seconds and was aborted. Search for rarer or whole words.`;
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" }, cause });
}

/** The error for a search whose process ended before its time: as much was written, or for want of memory. */
export function searchEnded(): GabbroError {
  const message =
    "The search was aborted: much was written meanwhile, or it took too much memory. Try again, or search for rarer or whole words.";
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" } });
}

/** The key of a log in the full-text index. */
export type Key = string | number;

/** A member of a JSON object. */
export interface Member {
  key: string;
  value: string | number | boolean | null;
}

/** Lower case as in both databases, whose `lower()` changes only A to Z. */
export function toAsciiLowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * Finds logs by their words and metadata, and other rows by their texts. Each database finds the same rows in its own way.
 * Workspaces take turns, and a search that takes longer than 5 seconds throws TIMED_OUT.
 */
export interface Search<Query = unknown> {
  /** The property of a log that is its key in the full-text index. */
  readonly key: "searchId" | "id";

  /**
   * The full-text query for all words of a text, in one workspace. Words are runs of letters and digits in any case. Words
   * between double quotes must follow each other in the input or in the output; a word that ends in * is a prefix.
   */
  query(workspaceId: string, text: string): Query;

  /** The keys of the logs that match a query, up to `limit`. */
  find(query: Query, limit: number): Promise<Key[]>;

  /** The keys whose logs match a query. */
  filterKeys(query: Query, keys: Key[]): Promise<Set<Key>>;

  /** Whether a text contains `substring`, ignoring the case of the letters A to Z. */
  contains(column: Expression<unknown>, substring: string): Expression<SqlBool>;

  /** The ids from a query that reads all texts of one workspace. */
  findIds(workspaceId: string, query: Compilable<{ id: string }>): Promise<string[]>;

  /** The keys of the logs whose metadata has all these members, up to `limit`; absent where metadata has no index. */
  findByMembers?(workspaceId: string, members: Member[], limit: number): Promise<Key[]>;

  /**
   * The rows of a statement that may take seconds, with the places and the time limit of a search: the connections of a workspace
   * would let it have six of them run at once, on all processors of a server. Absent where a statement blocks this process.
   */
  findRows?<Row>(workspaceId: string, query: Compilable<Row>): Promise<Row[]>;

  /** Whether a JSON object has all of some members, at least one. */
  hasMembers(object: Expression<unknown>, members: Member[]): Expression<SqlBool>;

  /** A column for a condition by which the planner must not choose an index. */
  unindexed<T>(column: Expression<T>): Expression<T>;

  /**
   * The id of a workspace for a statement that finds rows by other ids: PostgreSQL takes a workspace that is not in its
   * statistics yet for an empty one, and would read all of it. A list of a hundred traces took 3 s among 150,000 logs.
   */
  unestimated(workspaceId: string): Expression<string>;

  /** The same for what the ORM finds by ids. */
  unestimatedFilter(workspaceId: string): FilterOptions;

  /** Whether queries run on a server, so that this process serves other requests meanwhile. */
  readonly isServer: boolean;

  /** Whether the first column of an index of logs equals a value of any length. */
  indexedEquals(column: Expression<unknown>, value: string): Expression<SqlBool>;

  /** Conditions of which each log meets exactly one; the logs of each condition have an index for sums. */
  readonly summedParts: Expression<SqlBool>[];

  close(): Promise<void>;
}
