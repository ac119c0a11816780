import { p } from "@mikro-orm/core";

/**
 * A JSON value stored as its text, so that it is read back unchanged: SQLite's own JSON columns have numeric affinity (the
 * text 1e2 would be read as 100), and PostgreSQL's jsonb reorders keys.
 */
export const json = <T>() => p.json<T>().columnType("text");

/** A time to the millisecond: epoch milliseconds on SQLite, timestamptz(3) on PostgreSQL. */
export const timestamp = () => p.datetime(3);
