import { JsonType, type MetadataStorage, type Platform } from "@mikro-orm/core";
import type { Context } from "../context.ts";
import { jsonSize, SLOW_FRACTION } from "../limits/jsonSize.ts";
import { writeJson } from "../limits/jsonText.ts";
import { runWithPauses } from "./pauses.ts";

/** What may take longer to write as JSON than 15 ms, as jsonSize counts. */
const MAX_WITHIN_TURN = 1024 * 1024;

const written = new WeakMap<object, string>();

/** Writes the long JSON of rows in turns of their workspace, before the transaction that stores them. */
export async function writeAhead(context: Context, workspaceId: string, rows: object[]): Promise<void> {
  for (const value of rows.flatMap((row) => Object.values(row) as unknown[]))
    if (isLong(value)) written.set(value, await runWithPauses(context, workspaceId, writeJson(value)));
}

const isLong = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  jsonSize(value, MAX_WITHIN_TURN, { fraction: SLOW_FRACTION }) > MAX_WITHIN_TURN;

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
      if (isJson.has(key))
        return value === null ? null : (written.get(value as object) ?? JSON.stringify(value));
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
