import type { Compilable, Expression, SqlBool } from "kysely";
import { GabbroError } from "../errors.ts";

/** A search that takes longer is ended. */
export const SEARCH_LIMIT_MS = 5_000;

export const SEARCH_BUSY = "Too many searches are running. Try again in a while.";

/** The error for a search that was ended. */
export function searchTookTooLong(cause?: unknown): GabbroError {
  const message = `The search took longer than ${SEARCH_LIMIT_MS / 1_000} seconds and was ended. Search for rarer or whole words.`;
  return new GabbroError("TIMED_OUT", message, { headers: { "retry-after": "1" }, cause });
}

/** By what a full-text index knows a log. */
export type Key = string | number;

/** A member of a JSON object. */
export interface Member {
  key: string;
  value: string | number | boolean | null;
}

/** A text as the databases lower it: `lower()` of both changes A to Z only. */
export function lowered(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/**
 * How logs are found by their words and their metadata, and other things by their texts; each database has a way of its own
 * to the same answers. Workspaces take turns, and what takes longer than 5 seconds throws TIMED_OUT.
 */
export interface Search<Query = unknown> {
  /** The property of a log by which the full-text index knows it. */
  readonly key: "searchId" | "id";

  /**
   * What the full-text index is asked for: all words of a text, in one workspace. Words are runs of letters and digits
   * in any case; those between double quotes must stand in that order in one part, and what ends in * may go on.
   */
  query(workspaceId: string, text: string): Query;

  /** The keys of what a query finds, up to `most`. */
  find(query: Query, most: number): Promise<Key[]>;

  /** Those of some keys that a query finds. */
  among(query: Query, keys: Key[]): Promise<Set<Key>>;

  /** Whether a text has `wanted` in it, in any case of the letters A to Z. */
  contains(column: Expression<unknown>, wanted: string): Expression<SqlBool>;

  /** The ids that a query of one workspace gives which looks into texts, by reading all there are. */
  findIds(workspaceId: string, query: Compilable<{ id: string }>): Promise<string[]>;

  /** The keys of the logs whose metadata has all these members, up to `most`; absent where no index has them. */
  findByMembers?(workspaceId: string, members: Member[], most: number): Promise<Key[]>;

  /** Whether a JSON object has a member of that name with that value. */
  hasMember(object: Expression<unknown>, member: Member): Expression<SqlBool>;

  /** A column for a condition that no index is to be chosen by. */
  unindexed<T>(column: Expression<T>): Expression<T>;

  /** Whether a server looks, and this process serves others meanwhile. */
  readonly isServer: boolean;

  /** Whether a column that an index of logs begins with has a value, however long it is. */
  leads(column: Expression<unknown>, value: string): Expression<SqlBool>;

  /** Conditions of which each log meets one: the logs of each are summed up along an index of their own. */
  readonly summedParts: Expression<SqlBool>[];

  close(): Promise<void>;
}
