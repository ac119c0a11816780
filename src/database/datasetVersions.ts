import { type QueryExecutorProvider, sql } from "kysely";
import type { Insert } from "./inserts.ts";

/** The entity whose rows get the version of their dataset that the transaction makes. */
export const VERSIONED = "DatasetRow";

/**
 * The error for rows whose dataset was deleted, or whose columns changed, after the rows were encoded. It has the code of a foreign
 * key, because a soft-deleted dataset violates none.
 */
export const outdatedRows = () =>
  Object.assign(new Error("The dataset of a row has been deleted, or its columns were changed."), {
    code: "SQLITE_CONSTRAINT_FOREIGNKEY",
  });

const { next: NEXT } = versionStatements(() => "?");

/**
 * The values of rows that are about to be inserted, with the next version of their dataset, in the transaction that inserts them.
 * Until then their version is that of the columns by which their values are stored; a retry needs the rows unchanged.
 */
export function withVersionsSync(
  { entity, fields, rows }: Insert,
  prepare: (statement: string) => { all(values: unknown[]): unknown[] },
): unknown[][] {
  if (entity !== VERSIONED) return rows;
  const [dataset, workspace, version] = ["dataset", "workspace", "version"].map((name) =>
    fields.indexOf(name),
  ) as [number, number, number];
  const versions = new Map<unknown, number>();
  for (const [id, group] of Map.groupBy(rows, (row) => row[dataset])) {
    const columnsVersion = onlyOf(group.map((row) => row[version]));
    const [made] = prepare(NEXT).all([id, group[0]![workspace], columnsVersion]) as { version: number }[];
    if (!made) throw outdatedRows();
    versions.set(id, made.version);
  }
  return rows.map((row) => row.with(version, versions.get(row[dataset])));
}

/** The same in a transaction of Kysely, which locks the datasets: in one order, so that no two transactions wait for each other. */
export async function withVersions(
  transaction: QueryExecutorProvider,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<Record<string, unknown>[]> {
  if (entity !== VERSIONED) return rows;
  const byDataset = Map.groupBy(rows, ({ dataset }) => dataset as string);
  const versions = new Map<unknown, number>();
  for (const id of [...byDataset.keys()].toSorted()) {
    const group = byDataset.get(id)!;
    const columnsVersion = onlyOf(group.map((row) => row.version));
    const { rows: made } = await sql<{ version: number }>`
      update datasets set version = version + 1
      where id = ${id} and workspace_id = ${group[0]!.workspace} and columns_version = ${columnsVersion}
        and deleted_at is null
      returning version`.execute(transaction);
    if (!made[0]) throw outdatedRows();
    versions.set(id, made[0].version);
  }
  return rows.map((row) => ({ ...row, version: versions.get(row.dataset) }));
}

/** The one value of rows that were made by the same columns; rows that share a transaction may not be. */
function onlyOf(columnsVersions: unknown[]): unknown {
  const [first] = columnsVersions;
  if (columnsVersions.some((each) => each !== first)) throw outdatedRows();
  return first;
}

/**
 * The statements that make the next version of a dataset whose columns are those of a version, and that take it back before
 * anybody has seen it.
 */
export function versionStatements(placeholder: (n: number) => string) {
  const where = `where id = ${placeholder(1)} and workspace_id = ${placeholder(2)} and columns_version = ${placeholder(3)} and deleted_at is null`;
  return {
    next: `update datasets set version = version + 1 ${where} returning version`,
    takeBack: `update datasets set version = version - 1 ${where}`,
  };
}
