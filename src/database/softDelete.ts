import type { Transaction } from "kysely";
import type { Insert } from "./inserts.ts";

/**
 * A soft-deleted dataset stays until its rows are removed, so the foreign key accepts rows that somebody adds meanwhile, and
 * these must be refused here: in their own transaction, in which nobody can delete the dataset any more.
 */
const CHILD = "DatasetRow";
const MESSAGE = "The dataset of a row has been deleted.";
const FIND = "select 1 from datasets where id = ? and workspace_id = ? and deleted_at is not null";

/** Refuses rows of soft-deleted datasets as the foreign key refuses rows of datasets that are gone. */
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

/** The same in a transaction of Kysely, after the rows were inserted: PostgreSQL has locked their datasets by then. */
export async function refuseDeleted(
  transaction: Transaction<never>,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== CHILD) return;
  const workspaceOf = new Map(rows.map(({ dataset, workspace }) => [dataset, workspace]));
  const deleted = await (transaction as unknown as Transaction<Parents>)
    .selectFrom("Dataset")
    .select("id")
    .where("workspace", "in", [...new Set(workspaceOf.values())] as string[])
    .where("id", "in", [...workspaceOf.keys()] as string[])
    .where("deletedAt", "is not", null)
    .limit(1)
    .execute();
  if (deleted.length > 0) throw orphan("23503");
}

interface Parents {
  Dataset: { id: string; workspace: string; deletedAt: Date | null };
}

const orphan = (code: string) => Object.assign(new Error(MESSAGE), { code });
