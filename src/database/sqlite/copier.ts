import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Database } from "better-sqlite3";
import { createPrivateFolder, recreatePrivateFile } from "../../privateFiles.ts";
import {
  type Copier,
  type CopyTarget,
  describeRow,
  MAX_PORTION_ROWS,
  type Snapshot,
} from "../copy/copier.ts";
import type { Table, Value } from "../tables.ts";
import { handleOf } from "./connection.ts";
import { flushAndRename, removeDatabase, removeLeftovers } from "./partialFiles.ts";
import { refuseEarlierLog } from "./sideFiles.ts";
import { withSnapshot } from "./snapshot.ts";

/** Reads and writes the whole SQLite file at `path`. */
export function createSqliteCopier(path: string): Copier {
  return {
    tableNames: "select name from sqlite_master where type = 'table'",
    identity: async () => {
      const { dev, ino } = await stat(path, { bigint: true });
      return `${dev} ${ino}`;
    },
    read: ({ em }, run) => withSnapshot(em, (handle) => run(snapshotOf(handle))),
    // No flushes meanwhile: `replace` flushes the file once it is complete, and deletes it otherwise.
    fill: async ({ em }, _, run) => {
      const handle = await handleOf(em, "write");
      handle.exec("pragma synchronous = off; pragma cache_size = -64000; pragma wal_autocheckpoint = 16000");
      return run(targetOf(handle));
    },
    replace: (make, refuseNonEmpty) => replace(path, make, refuseNonEmpty),
  };
}

const quote = (name: string) => `\`${name}\``;
const columnList = (columns: { name: string }[]) => columns.map(({ name }) => quote(name)).join(", ");

function snapshotOf(handle: Database): Snapshot {
  return {
    execute: async (statement) => handle.prepare<unknown[], Record<string, unknown>>(statement).all(),
    rows: (table) => rowsOf(handle, table),
  };
}

const MAX_PORTION_CHARACTERS = 1_000_000;

async function* rowsOf(handle: Database, table: Table): AsyncGenerator<Value[][]> {
  const { columns, name, key } = table;
  const select = `select ${columnList(columns)} from ${quote(name)} order by ${columnList(key)}`;
  const checkRow = createRowCheck(handle, table);
  let rows: Value[][] = [];
  let characters = 0;
  for (const row of handle.prepare<[], Value[]>(select).raw().iterate()) {
    checkRow(row);
    rows.push(row);
    for (const value of row) if (typeof value === "string") characters += value.length;
    if (rows.length < MAX_PORTION_ROWS && characters < MAX_PORTION_CHARACTERS) continue;
    yield rows;
    rows = [];
    characters = 0;
  }
  if (rows.length > 0) yield rows;
}

const typesOfKinds: Record<Table["columns"][number]["kind"], string> = {
  text: "string",
  json: "string",
  number: "number",
  timestamp: "number",
  boolean: "number",
};

/** SQLite allows any type in any column, and invalid UTF-8 in texts, which would be read as different bytes. */
function createRowCheck(handle: Database, table: Table): (row: unknown[]) => void {
  const { columns, name, key } = table;
  const types = columns.map(({ kind }) => typesOfKinds[kind]);
  const where = key.map((column) => `${quote(column.name)} = ?`).join(" and ");
  return (row) => {
    row.forEach((value, at) => {
      if (value === null) return;
      const place = `${quote(columns[at]!.name)} of ${describeRow(table, row as Value[])}`;
      if (typeof value !== types[at])
        throw new Error(`The source has no ${types[at]} in ${place}. Correct it there.`);
      if (typeof value !== "string" || !value.includes("\uFFFD")) return;
      const bytes = handle
        .prepare(`select cast(${quote(columns[at]!.name)} as blob) from ${quote(name)} where ${where}`)
        .raw()
        .get(...key.map((column) => row[columns.indexOf(column)])) as [Buffer];
      if (!isUtf8(bytes[0]))
        throw new Error(`The source has bytes that are no UTF-8 in ${place}. Correct them there.`);
    });
  };
}

function targetOf(handle: Database): CopyTarget {
  return {
    ...snapshotOf(handle),
    insert: async (table, rows) => {
      const { name, columns } = table;
      const values = columns.map(() => "?").join(", ");
      const statement = handle.prepare(
        `insert into ${quote(name)} (${columnList(columns)}) values (${values})`,
      );
      handle.exec("begin immediate");
      for (const row of rows) {
        try {
          statement.run(row);
        } catch (error) {
          const reason = (error as { code?: string }).code ?? (error as Error).message;
          throw new Error(
            `The target refuses ${describeRow(table, row)} (${reason}). Correct it in the source.`,
            {
              cause: error,
            },
          );
        }
      }
      handle.exec("commit");
    },
  };
}

async function replace<T>(
  path: string,
  make: (url: string) => Promise<T>,
  refuseNonEmpty: () => Promise<void>,
): Promise<T> {
  refuseEarlierLog(path);
  await createPrivateFolder(dirname(path));
  await removeLeftovers(`${path}.copy-`, /\.copy-(\d+)$/);
  const partial = `${path}.copy-${process.pid}`;
  try {
    await (await recreatePrivateFile(partial)).close();
    const result = await make(`sqlite:${partial}`);
    if (existsSync(path)) await refuseTargetInUse(path, refuseNonEmpty);
    refuseEarlierLog(path);
    await flushAndRename(partial, path);
    return result;
  } finally {
    await removeDatabase(partial);
  }
}

/** Programs that have the file open would continue with the replaced one. SQLite keeps its write-ahead log while any has. */
async function refuseTargetInUse(path: string, refuseNonEmpty: () => Promise<void>): Promise<void> {
  await refuseNonEmpty();
  if (existsSync(`${path}-wal`))
    throw new Error(`The target ${path} is in use by another program. Stop it, then copy again.`);
}
