import { p } from "@mikro-orm/core";

/**
 * A JSON value kept as the text it was written as, so that it comes back exactly so: SQLite's own JSON columns have
 * numeric affinity (the text 1e2 would come back as 100), PostgreSQL's jsonb reorders keys.
 */
export const json = <T>() => p.json<T>().columnType("text");

/** A time to the millisecond: epoch milliseconds on SQLite, timestamptz(3) on PostgreSQL. */
export const timestamp = () => p.datetime(3);
