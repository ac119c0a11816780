import { JsonType, type MetadataStorage, type Platform } from "@mikro-orm/core";
import { jsonOf } from "../limits/jsonText.ts";

type Encode = (row: Record<string, unknown>) => Record<string, unknown>;

/**
 * Makes the function that converts rows from the types of their entity to those of the database. The ORM's own conversion for
 * Kysely is not used for data of users: it skips JSON objects that happen to have a member named "kind".
 */
export function createEncoder(metadata: MetadataStorage, platform: Platform): (entity: string) => Encode {
  const encoders = new Map<string, Encode>();
  for (const { name, properties } of metadata) {
    if (!name) continue;
    const isJson = new Set(
      Object.values<{ name: string; customType?: unknown }>(properties)
        .filter(({ customType }) => customType instanceof JsonType)
        .map((property) => property.name),
    );
    const encodeValue = (key: string, value: unknown) => {
      if (isJson.has(key)) return value === null ? null : jsonOf(value);
      return value instanceof Date ? platform.processDateProperty(value) : value;
    };
    encoders.set(name, (row) => {
      const encoded: Record<string, unknown> = {};
      for (const key in row) encoded[key] = encodeValue(key, row[key]);
      return encoded;
    });
  }
  return (entity) => encoders.get(entity)!;
}
