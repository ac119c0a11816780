import { type QueryExecutorProvider, sql } from "kysely";
import type { Insert } from "./inserts.ts";

/**
 * A soft-deleted dataset stays until its rows are deleted, so the foreign key still accepts new rows. They are refused here,
 * in their own transaction, during which no other request can delete the dataset.
 */
const CHILD = "DatasetRow";
const MESSAGE = "The dataset of a row has been deleted.";
const FIND = "select 1 from datasets where id = ? and workspace_id = ? and deleted_at is not null";

/** Refuses rows of soft-deleted datasets with the error of the foreign key. */
export function refuseDeletedSync(
  inserts: Insert[],
  prepare: (statement: string) => { all(values: unknown[]): unknown[] },
): void {
  for (const { entity, fields, rows } of inserts) {
    if (entity !== CHILD) continue;
    const [dataset, workspace] = [fields.indexOf("dataset"), fields.indexOf("workspace")];
    const workspaceOf = new Map(rows.map((row) => [row[dataset], row[workspace]]));
    for (const parent of workspaceOf)
      if (prepare(FIND).all(parent).length > 0) throw orphan("SQLITE_CONSTRAINT_FOREIGNKEY");
  }
}

/** The same in a transaction of Kysely. Call it after the rows are inserted: PostgreSQL has then locked their datasets. */
export async function refuseDeleted(
  transaction: QueryExecutorProvider,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== CHILD) return;
  const workspaceOf = new Map(rows.map(({ dataset, workspace }) => [dataset, workspace]));
  const ids = sql.join([...workspaceOf.keys()]);
  const workspaces = sql.join([...new Set(workspaceOf.values())]);
  const { rows: deleted } =
    await sql`select 1 from datasets where id in (${ids}) and workspace_id in (${workspaces}) and deleted_at is not null limit 1`.execute(
      transaction,
    );
  if (deleted.length > 0) throw orphan("23503");
}

const orphan = (code: string) => Object.assign(new Error(MESSAGE), { code });
