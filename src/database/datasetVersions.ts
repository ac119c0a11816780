import { type QueryExecutorProvider, sql } from "kysely";
import type { Insert } from "./inserts.ts";

/** The entity whose rows get the version of their dataset that the transaction makes. */
export const VERSIONED = "DatasetRow";

/** A row with a place for its version, which is known in its transaction only. */
export const withPlaceForVersion = (entity: string, row: Record<string, unknown>) =>
  entity === VERSIONED ? { ...row, version: 0 } : row;

/**
 * A soft-deleted dataset stays until its rows are deleted, so the foreign key still accepts new rows. They are refused with
 * its error, as no version is made of such a dataset.
 */
export const orphan = () =>
  Object.assign(new Error("The dataset of a row has been deleted."), {
    code: "SQLITE_CONSTRAINT_FOREIGNKEY",
  });

const { next: NEXT } = versionStatements(() => "?");

/** Gives rows that are about to be inserted the next version of their dataset, in the transaction that inserts them. */
export function assignVersionsSync(
  { entity, fields, rows }: Insert,
  prepare: (statement: string) => { all(values: unknown[]): unknown[] },
): void {
  if (entity !== VERSIONED) return;
  const [dataset, workspace, version] = ["dataset", "workspace", "version"].map((name) =>
    fields.indexOf(name),
  ) as [number, number, number];
  for (const group of Map.groupBy(rows, (row) => row[dataset]).values()) {
    const [made] = prepare(NEXT).all([group[0]![dataset], group[0]![workspace]]) as { version: number }[];
    if (!made) throw orphan();
    for (const row of group) row[version] = made.version;
  }
}

/** The same in a transaction of Kysely, which locks the datasets: in one order, so that no two transactions wait for each other. */
export async function assignVersions(
  transaction: QueryExecutorProvider,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== VERSIONED) return;
  const byDataset = Map.groupBy(rows, ({ dataset }) => dataset as string);
  for (const id of [...byDataset.keys()].toSorted()) {
    const group = byDataset.get(id)!;
    const { rows: made } = await sql<{ version: number }>`
      update datasets set version = version + 1
      where id = ${id} and workspace_id = ${group[0]!.workspace} and deleted_at is null
      returning version`.execute(transaction);
    if (!made[0]) throw orphan();
    for (const row of group) row.version = made[0].version;
  }
}

/** The statements that make the next version of a dataset, and that take it back before anybody has seen it. */
export function versionStatements(placeholder: (n: number) => string) {
  const where = `where id = ${placeholder(1)} and workspace_id = ${placeholder(2)} and deleted_at is null`;
  return {
    next: `update datasets set version = version + 1 ${where} returning version`,
    takeBack: `update datasets set version = version - 1 ${where}`,
  };
}
