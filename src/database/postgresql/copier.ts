import { CompiledQuery, type Transaction } from "kysely";
import { type Copier, type CopyTarget, describeRow, portions, type Snapshot } from "../copy/copier.ts";
import type { Column, Table, Value } from "../tables.ts";
import { insertWords } from "./search.ts";

/** Reads and writes a whole PostgreSQL database, in one transaction each. */
export const postgresqlCopier: Copier = {
  tableNames:
    "select relname as name from pg_class where relkind in ('r', 'p') and pg_table_is_visible(oid) and relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')",
  identity: async ({ em }) => {
    const [row] = await em
      .fork()
      .execute<{ identity: string }[]>(
        "select extract(epoch from pg_postmaster_start_time()) || ' ' || oid as identity from pg_database where datname = current_database()",
      );
    return row!.identity;
  },
  read: ({ em }, run) =>
    em
      .getKysely<never>()
      .transaction()
      .setIsolationLevel("repeatable read")
      .setAccessMode("read only")
      .execute(async (transaction) => {
        await prepare(transaction);
        return run(snapshotOf(transaction));
      }),
  fill: ({ em }, tables, run) =>
    em
      .getKysely<never>()
      .transaction()
      .execute(async (transaction) => {
        await prepare(transaction);
        await lock(transaction, tables);
        const result = await withPendingLists(transaction, () => run(targetOf(transaction)));
        for (const { name } of tables) await execute(transaction, `analyze ${quote(name)}`);
        return result;
      }),
};

/** Keeps new words and metadata aside meanwhile, and merges many of them at once: 10,000 texts of 200 words then take half of the time. */
async function withPendingLists<Result>(
  transaction: Transaction<never>,
  work: () => Promise<Result>,
): Promise<Result> {
  await execute(transaction, "set local gin_pending_list_limit = '64MB'");
  const indexes = await execute(
    transaction,
    "select quote_ident(relname) as name from pg_class where cast(reloptions as text) like '%fastupdate=off%' and relnamespace = current_schema()::regnamespace",
  );
  for (const { name } of indexes) await execute(transaction, `alter index ${name} set (fastupdate = on)`);
  const result = await work();
  for (const { name } of indexes) {
    await execute(transaction, `alter index ${name} set (fastupdate = off)`);
    await execute(transaction, "select gin_clean_pending_list($1)", [name]);
  }
  return result;
}

const quote = (name: string) => `"${name}"`;
const columnList = (columns: { name: string }[]) => columns.map(({ name }) => quote(name)).join(", ");

async function execute(
  transaction: Transaction<never>,
  statement: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  return (await transaction.executeQuery<Record<string, unknown>>(CompiledQuery.raw(statement, values))).rows;
}

/** Disables time limits for a copy, and makes numbers exact. */
async function prepare(transaction: Transaction<never>): Promise<void> {
  await execute(
    transaction,
    "select set_config(name, '0', true) from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')",
  );
  await execute(transaction, "set local extra_float_digits = 1");
}

/** Makes other programs wait for the complete copy. */
async function lock(transaction: Transaction<never>, tables: Table[]): Promise<void> {
  try {
    await execute(transaction, "set local lock_timeout = '5s'");
    await execute(transaction, `lock table ${columnList(tables)} in access exclusive mode`);
  } catch (cause) {
    if ((cause as { code?: string }).code !== "55P03") throw cause;
    throw new Error("The target is in use by another program. Stop it, then copy again.", { cause });
  }
}

function snapshotOf(transaction: Transaction<never>): Snapshot {
  return {
    execute: (statement) => execute(transaction, statement),
    rows: (table) => rowsOf(transaction, table),
  };
}

const SIZES_PER_FETCH = 2_000;

/** Reads the sizes of rows before the rows: a thousand of the largest would not fit in memory. */
async function* rowsOf(transaction: Transaction<never>, table: Table): AsyncGenerator<Value[][]> {
  const { columns, name, key } = table;
  const texts = columns.filter(({ kind }) => kind === "text" || kind === "json");
  const size = texts.map((column) => `coalesce(octet_length(${quote(column.name)}::text), 0)`).join(" + ");
  const from = `from ${quote(name)} order by ${columnList(key)}`;
  await execute(transaction, `declare sizes no scroll cursor for select ${size} as bytes ${from}`);
  await execute(transaction, `declare contents no scroll cursor for select ${columnList(columns)} ${from}`);
  for (;;) {
    const sizes = await execute(transaction, `fetch ${SIZES_PER_FETCH} from sizes`);
    for (const count of portions(sizes.map(({ bytes }) => Number(bytes)))) {
      const rows = await execute(transaction, `fetch ${count} from contents`);
      yield rows.map((row) => columns.map((column) => toValue(row[column.name])));
    }
    if (sizes.length < SIZES_PER_FETCH) break;
  }
  await execute(transaction, "close sizes");
  await execute(transaction, "close contents");
}

function toValue(stored: unknown): Value {
  if (stored instanceof Date) return stored.getTime();
  return typeof stored === "boolean" ? Number(stored) : (stored as Value);
}

function targetOf(transaction: Transaction<never>): CopyTarget {
  const put = async (table: Table, rows: Value[][]): Promise<void> => {
    const { columns, name } = table;
    const types = columns.map(({ type }, at) => `"${at}" ${type}`).join(", ");
    const values = columns.map((_, at) => `"${at}"`).join(", ");
    await execute(
      transaction,
      `insert into ${quote(name)} (${columnList(columns)}) select ${values} from json_to_recordset($1) as given (${types})`,
      [`[${rows.map((row) => toJson(columns, row)).join(",")}]`],
    );
    if (table.entity === "Log")
      await insertWords(
        transaction,
        "Log",
        rows.map((row) => toSearchableRow(columns, row)),
      );
  };
  return {
    ...snapshotOf(transaction),
    insert: async (table, rows) => {
      for (const row of rows) refuseNul(table, row);
      await execute(transaction, "savepoint portion");
      try {
        await put(table, rows);
      } catch (error) {
        await execute(transaction, "rollback to savepoint portion");
        await throwForRefusedRow(table, rows);
        throw error;
      }
      await execute(transaction, "release savepoint portion");
    },
  };

  async function throwForRefusedRow(table: Table, rows: Value[][]): Promise<void> {
    for (const row of rows) {
      await put(table, [row]).catch((cause) => {
        // The text between quotation marks may be data of users.
        const reason = String(cause.message)
          .split(': "')[0]!
          .replaceAll(/ "[^"]*"/g, "");
        const message = `The target refuses ${describeRow(table, row)} (${reason}). Correct it in the source.`;
        throw new Error(message, { cause });
      });
    }
  }
}

/** A row as JSON, with the indexes of its columns as keys, without nulls. */
function toJson(columns: Column[], row: Value[]): string {
  const members = row.flatMap((value, at) =>
    value === null ? [] : `"${at}":${JSON.stringify(toStored(columns[at]!, value))}`,
  );
  return `{${members.join(",")}}`;
}

const toStored = ({ kind }: Column, value: Value) => {
  if (kind === "timestamp") return new Date(value as number).toISOString();
  return kind === "boolean" ? Boolean(value) : value;
};

/** The fields whose words the full-text index needs. */
function toSearchableRow(columns: Column[], row: Value[]): Record<string, unknown> {
  return Object.fromEntries(
    columns.flatMap(({ field, kind }, at) => {
      if (!["id", "workspace", "input", "output"].includes(field)) return [];
      return [[field, kind === "json" && row[at] !== null ? JSON.parse(row[at] as string) : row[at]]];
    }),
  );
}

const NUL = "\0";
const NUL_IN_JSON = /(?<!\\)(?:\\\\)*\\u0000/;

/** No API accepts this character, but a SQLite file may contain it all the same. */
function refuseNul(table: Table, row: Value[]): void {
  const at = row.findIndex(
    (value, n) =>
      typeof value === "string" &&
      (value.includes(NUL) || (table.columns[n]!.kind === "json" && NUL_IN_JSON.test(value))),
  );
  if (at < 0) return;
  throw new Error(
    `${quote(table.columns[at]!.name)} of ${describeRow(table, row)} contains the character NUL (U+0000), which PostgreSQL cannot store. Remove it from the source, then copy again.`,
  );
}
