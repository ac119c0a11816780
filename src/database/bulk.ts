import type { MetadataStorage, Platform } from "@mikro-orm/core";
import { whenUnlocked } from "./commit.ts";
import type { createEncoder } from "./encode.ts";

/** The part of the SQLite driver that is used here: a statement that is prepared once and run for every row. */
interface Handle {
  prepare(statement: string): { get(values: unknown[]): unknown };
  exec(statement: string): unknown;
}

/** The write connection of the ORM: nobody else is on it while `alone` runs. */
export interface BulkConnection {
  handle(): Promise<Handle>;
  alone<T>(run: () => Promise<T>): Promise<T>;
}

/** What a row of an entity does when another one has the same key. */
export interface Replacement {
  key: string[];
  /** What it takes over; a row that has all of it already is left as it is. */
  content: string[];
}

/**
 * Makes the writer of many rows at once. A statement that is prepared once and run for each row takes half the time of
 * one over all of them that Kysely builds and the driver prepares anew, and leaves no garbage outside the heap behind.
 */
export function createBulk(
  connection: BulkConnection,
  encode: ReturnType<typeof createEncoder>,
  sqlOf: ReturnType<typeof createStatements>,
) {
  /**
   * Puts rows with ids into the table of an entity in one transaction, in their order. Tells how many are new and how
   * many replaced the content of another; the rest was there already.
   */
  return async (entity: string, rows: { id: string }[], replacement: Replacement) => {
    if (rows.length === 0) return { added: 0, changed: 0 };
    return whenUnlocked(() =>
      connection.alone(async () => {
        const handle = await connection.handle();
        const encodeRow = encode(entity);
        const fields = Object.keys(rows[0]!);
        handle.exec("begin immediate");
        try {
          const statement = handle.prepare(sqlOf(entity, fields, replacement));
          const result = { added: 0, changed: 0 };
          for (const row of rows) {
            const values = encodeRow(row as never);
            const written = statement.get(fields.map((field) => values[field])) as { id: string } | undefined;
            if (written?.id === row.id) result.added++;
            else if (written) result.changed++;
          }
          handle.exec("commit");
          return result;
        } catch (error) {
          handle.exec("rollback");
          throw error;
        }
      }),
    );
  };
}

/** Writes the SQL of bulk writes with the names that tables and columns have in the database. */
export function createStatements(metadata: MetadataStorage, platform: Platform) {
  const quote = (name: string) => platform.quoteIdentifier(name);
  return (entity: string, fields: string[], { key, content }: Replacement): string => {
    const meta = [...metadata].find(({ name }) => name === entity)!;
    const columnsOf = (names: string[]) =>
      names.map((name) =>
        quote((meta.properties as Record<string, { fieldNames: string[] }>)[name]!.fieldNames[0]!),
      );
    const table = quote(meta.tableName);
    const taken = columnsOf(content);
    return [
      `insert into ${table} (${columnsOf(fields)}) values (${fields.map(() => "?")})`,
      `on conflict (${columnsOf(key)}) do update set ${taken.map((column) => `${column} = excluded.${column}`)}`,
      `where ${taken.map((column) => `${table}.${column} is not excluded.${column}`).join(" or ")}`,
      `returning ${columnsOf(["id"])} as id`,
    ].join(" ");
  };
}
