import type { MetadataStorage, Platform } from "@mikro-orm/core";
import { whenUnlocked } from "./commit.ts";
import type { Dialect } from "./dialect.ts";
import type { createEncoder } from "./encode.ts";

/** What a row of an entity does when another one has the same key. */
export interface Replacement {
  key: string[];
  /** What it takes over; a row that has all of it already is left as it is. */
  content: string[];
}

type RunEach = (statement: string, rows: unknown[][]) => ReturnType<Dialect["runEach"]>;

/**
 * Makes the writer of many rows at once. A statement that is prepared once and run for each row takes half the time of
 * one over all of them that Kysely builds and the driver prepares anew, and leaves no garbage outside the heap behind.
 */
export function createBulk(
  runEach: RunEach,
  encode: ReturnType<typeof createEncoder>,
  sqlOf: ReturnType<typeof createStatements>["put"],
) {
  /**
   * Puts rows with ids into the table of an entity in one transaction, in their order. Tells how many are new and how
   * many replaced the content of another; the rest was there already.
   */
  return async (entity: string, rows: { id: string }[], replacement: Replacement) => {
    if (rows.length === 0) return { added: 0, changed: 0 };
    const encodeRow = encode(entity);
    const fields = Object.keys(rows[0]!);
    const values = rows.map((row) => {
      const encoded = encodeRow(row as never);
      return fields.map((field) => encoded[field]);
    });
    const statement = sqlOf(entity, fields, replacement);
    const written = await whenUnlocked(() => runEach(statement, values));
    const added = written.filter((id, at) => id === rows[at]!.id).length;
    const changed = written.filter((id, at) => id !== undefined && id !== rows[at]!.id).length;
    return { added, changed };
  };
}

/** Writes the SQL of prepared writes with the names that tables and columns have in the database. */
export function createStatements(
  metadata: MetadataStorage,
  platform: Platform,
  placeholder: Dialect["placeholder"],
) {
  const quote = (name: string) => platform.quoteIdentifier(name);
  const namesOf = (entity: string) => {
    const meta = [...metadata].find(({ name }) => name === entity)!;
    const properties = meta.properties as Record<string, { fieldNames: string[] }>;
    const columnsOf = (names: string[]) => names.map((name) => quote(properties[name]!.fieldNames[0]!));
    return { table: quote(meta.tableName), columnsOf };
  };
  const insert = (entity: string, fields: string[]): string => {
    const { table, columnsOf } = namesOf(entity);
    return `insert into ${table} (${columnsOf(fields)}) values (${fields.map((_, at) => placeholder(at + 1))})`;
  };
  const written = new Map<string, string>();
  return {
    insert: (entity: string, fields: string[]): string => {
      const key = `${entity} ${fields}`;
      const statement = written.get(key) ?? insert(entity, fields);
      written.set(key, statement);
      return statement;
    },
    put: (entity: string, fields: string[], { key, content }: Replacement): string => {
      const { table, columnsOf } = namesOf(entity);
      const taken = columnsOf(content);
      return [
        insert(entity, fields),
        `on conflict (${columnsOf(key)}) do update set ${taken.map((column) => `${column} = excluded.${column}`)}`,
        `where ${taken.map((column) => `${table}.${column} is distinct from excluded.${column}`).join(" or ")}`,
        `returning ${table}.${columnsOf(["id"])} as id`,
      ].join(" ");
    },
  };
}
