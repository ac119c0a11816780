import type { MetadataStorage, Platform } from "@mikro-orm/core";
import type { Dialect } from "./dialect.ts";
import type { createEncoder } from "./encode.ts";
import { retryWhileLocked } from "./groupCommit.ts";

/** What a row of an entity does when another one has the same key. */
export interface Replacement {
  key: string[];
  /** What it takes over; a row that has all of it already is left as it is. */
  content: string[];
}

type Encoded = Record<string, unknown>;

/**
 * Makes the writer of many rows at once, by statements of so many rows that are alike: Kysely would build them anew, and
 * on SQLite the garbage outside the heap would stay behind.
 */
export function createBulk(
  orm: Parameters<Dialect["runEach"]>[0],
  { runEach, rowsPerStatement }: Pick<Dialect, "runEach" | "rowsPerStatement">,
  encode: ReturnType<typeof createEncoder>,
  sqlOf: ReturnType<typeof createStatements>["put"],
) {
  /**
   * Puts rows with ids into the table of an entity in one transaction, in their order. Tells how many are new and how
   * many replaced the content of another; the rest was there already.
   */
  return async (entity: string, rows: { id: string }[], replacement: Replacement) => {
    if (rows.length === 0) return { added: 0, changed: 0 };
    const fields = Object.keys(rows[0]!);
    const groups = apart(rows.map(encode(entity) as never), replacement.key, rowsPerStatement);
    const written = new Map<number, string>();
    const sqlFor = (count: number) => {
      const statement = written.get(count) ?? sqlOf(entity, fields, replacement, count);
      written.set(count, statement);
      return statement;
    };
    const statements = groups.map((group) => ({
      statement: sqlFor(group.length),
      values: group.flatMap((row) => fields.map((field) => row[field])),
    }));
    const ids = await retryWhileLocked(() => runEach(orm, statements));
    const counts = ids.map((some, at) => {
      const own = new Set(groups[at]!.map(({ id }) => id));
      return { all: some.length, added: some.filter((id) => own.has(id)).length };
    });
    const added = counts.reduce((sum, count) => sum + count.added, 0);
    return { added, changed: counts.reduce((sum, count) => sum + count.all, 0) - added };
  };
}

/** Rows in groups, in their order: no statement can put two rows with the same key. */
function apart(rows: Encoded[], key: string[], most: number): Encoded[][] {
  const groups: Encoded[][] = [];
  let taken = new Set<string>();
  for (const row of rows) {
    const place = JSON.stringify(key.map((field) => row[field]));
    const isTaken = taken.has(place) && key.every((field) => row[field] != null); // nulls are never the same
    if (groups.length === 0 || isTaken || groups.at(-1)!.length === most) {
      groups.push([]);
      taken = new Set();
    }
    groups.at(-1)!.push(row);
    taken.add(place);
  }
  return groups;
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
  const insert = (entity: string, fields: string[], rows = 1): string => {
    const { table, columnsOf } = namesOf(entity);
    const values = Array.from(
      { length: rows },
      (_, row) => `(${fields.map((_, at) => placeholder(row * fields.length + at + 1))})`,
    );
    return `insert into ${table} (${columnsOf(fields)}) values ${values}`;
  };
  const written = new Map<string, string>();
  return {
    insert: (entity: string, fields: string[]): string => {
      const key = `${entity} ${fields}`;
      const statement = written.get(key) ?? insert(entity, fields);
      written.set(key, statement);
      return statement;
    },
    put: (entity: string, fields: string[], { key, content }: Replacement, rows: number): string => {
      const { table, columnsOf } = namesOf(entity);
      const taken = columnsOf(content);
      return [
        insert(entity, fields, rows),
        `on conflict (${columnsOf(key)}) do update set ${taken.map((column) => `${column} = excluded.${column}`)}`,
        `where ${taken.map((column) => `${table}.${column} is distinct from excluded.${column}`).join(" or ")}`,
        `returning ${table}.${columnsOf(["id"])} as id`,
      ].join(" ");
    },
  };
}
