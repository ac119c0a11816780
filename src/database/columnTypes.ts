import { JsonType, p } from "@mikro-orm/core";
import { jsonOf } from "../limits/jsonText.ts";

/** Takes the JSON that is kept of a value: the ORM writes it for a change, and again to compare with. */
class KeptJsonType extends JsonType {
  override convertToDatabaseValue(value: unknown): string | null {
    return value === null || value === undefined ? null : jsonOf(value);
  }
}

/**
 * A JSON value stored as its text, so that it is read back unchanged: SQLite's own JSON columns have numeric affinity (the
 * text 1e2 would be read as 100), and PostgreSQL's jsonb reorders keys.
 */
export const json = <T>() => p.type(KeptJsonType).$type<T>().columnType("text");

/** A time to the millisecond: epoch milliseconds on SQLite, timestamptz(3) on PostgreSQL. */
export const timestamp = () => p.datetime(3);
