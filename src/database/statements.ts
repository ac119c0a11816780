import type { MetadataStorage, Platform } from "@mikro-orm/core";
import { outdatedRows, VERSIONED, versionStatements } from "./datasetVersions.ts";
import type { Dialect } from "./dialect.ts";
import type { createEncoder } from "./encode.ts";
import { retryWhileLocked } from "./retry.ts";

/** How a row replaces another one with the same key. */
export interface Replacement {
  key: string[];
  /** The fields that are replaced; a row that already equals them is not updated. */
  content: string[];
  /** Fields that change along with the content. */
  along: string[];
}

type Encoded = Record<string, unknown>;

/**
 * Makes the writer of many rows of one dataset at once. It reuses one statement for each number of rows: Kysely would build
 * every statement anew, and on SQLite that garbage outside of the heap would accumulate.
 */
export function createBulk(
  orm: Parameters<Dialect["runSteps"]>[0],
  { runSteps, rowsPerStatement, placeholder }: Pick<Dialect, "runSteps" | "rowsPerStatement" | "placeholder">,
  encode: ReturnType<typeof createEncoder>,
  sqlOf: ReturnType<typeof createStatements>["put"],
) {
  const version = versionStatements(placeholder);
  /**
   * Puts rows with ids in one transaction, in their order. Returns how many rows are new and how many replaced the content of
   * another row; all other rows were stored already. Makes a version of the dataset unless all of them were.
   */
  return async (
    dataset: { id: string; workspace: string; columnsVersion: number },
    rows: { id: string }[],
    replacement: Replacement,
  ) => {
    if (rows.length === 0) return { added: 0, changed: 0 };
    const fields = [...Object.keys(rows[0]!), "version"];
    const groups = groupByDistinctKeys(rows.map(encode(VERSIONED)), replacement.key, rowsPerStatement);
    const sqlCache = new Map<number, string>();
    const sqlFor = (count: number) => {
      const statement = sqlCache.get(count) ?? sqlOf(VERSIONED, fields, replacement, count);
      sqlCache.set(count, statement);
      return statement;
    };
    const known = [dataset.id, dataset.workspace, dataset.columnsVersion];
    return retryWhileLocked(() =>
      runSteps(orm, function* () {
        const [made] = yield { statement: version.next, values: known };
        if (!made) throw outdatedRows();
        const result = { added: 0, changed: 0 };
        for (const group of groups) {
          for (const row of group) row.version = made.version;
          const values = group.flatMap((row) => fields.map((field) => row[field]));
          const stored = yield { statement: sqlFor(group.length), values };
          const newIds = new Set(group.map(({ id }) => id));
          const added = stored.filter(({ id }) => newIds.has(id)).length;
          result.added += added;
          result.changed += stored.length - added;
        }
        if (result.added + result.changed === 0) yield { statement: version.takeBack, values: known };
        return result;
      }),
    );
  };
}

/** Divides rows into groups, in their order: no statement can put two rows with the same key. */
function groupByDistinctKeys(rows: Encoded[], key: string[], maxRows: number): Encoded[][] {
  const groups: Encoded[][] = [];
  let keysOfGroup = new Set<string>();
  for (const row of rows) {
    const rowKey = JSON.stringify(key.map((field) => row[field]));
    const isDuplicate = keysOfGroup.has(rowKey) && key.every((field) => row[field] != null); // nulls are never equal
    if (groups.length === 0 || isDuplicate || groups.at(-1)!.length === maxRows) {
      groups.push([]);
      keysOfGroup = new Set();
    }
    groups.at(-1)!.push(row);
    keysOfGroup.add(rowKey);
  }
  return groups;
}

/** Makes the SQL of prepared writes, with the names of tables and columns in the database. */
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
  const sqlCache = new Map<string, string>();
  return {
    insert: (entity: string, fields: string[]): string => {
      const key = `${entity} ${fields}`;
      const statement = sqlCache.get(key) ?? insert(entity, fields);
      sqlCache.set(key, statement);
      return statement;
    },
    put: (entity: string, fields: string[], { key, content, along }: Replacement, rows: number): string => {
      const { table, columnsOf } = namesOf(entity);
      const columns = columnsOf(content);
      return [
        insert(entity, fields, rows),
        `on conflict (${columnsOf(key)}) do update set ${columnsOf([...content, ...along]).map((column) => `${column} = excluded.${column}`)}`,
        `where ${columns.map((column) => `${table}.${column} is distinct from excluded.${column}`).join(" or ")}`,
        `returning ${table}.${columnsOf(["id"])} as id`,
      ].join(" ");
    },
  };
}
