import { deleteInBatches } from "../database/deleteInBatches.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { type Dataset, DatasetRow } from "./entities.ts";

/** Rows that are deleted with their dataset in one statement: 100 of 9 MB take SQLite half a second. */
const FEW_ROWS = 5;

/**
 * Deletes a dataset in the transaction of `em`. One with many rows is soft-deleted, which frees its slug;
 * `removeDeletedDatasets` removes it later.
 */
export async function removeDataset(em: EntityManager, dataset: Dataset): Promise<void> {
  const rest = { fields: ["id"], orderBy: { id: "asc" }, offset: FEW_ROWS, limit: 1 } as const;
  const isSmall = (await em.find(DatasetRow, { dataset: dataset.id }, rest)).length === 0;
  if (isSmall) {
    em.remove(dataset);
    return;
  }
  // A change of a unique key locks the dataset against new rows on PostgreSQL as well.
  dataset.slug = `~${dataset.id}`;
  dataset.deletedAt = new Date();
}

/** Removes soft-deleted datasets in small steps, until all are gone or `signal` aborts. */
export async function removeDeletedDatasets({ read, write }: Database, signal: AbortSignal): Promise<void> {
  const deleted = await read
    .selectFrom("Dataset")
    .select(["id", "workspace"])
    .where("deletedAt", "is not", null)
    .execute();
  for (const { id, workspace } of deleted) {
    const rows = read
      .selectFrom("DatasetRow")
      .select("id")
      .where("workspace", "=", workspace)
      .where("dataset", "=", id)
      .orderBy("id");
    const removal = write.deleteFrom("DatasetRow").where("workspace", "=", workspace);
    await deleteInBatches(
      {
        // Continues after the last batch: scanning removed rows takes PostgreSQL longer each time, until a vacuum.
        find: (maxRows, after) => rows.where("id", ">", after).limit(maxRows).execute(),
        remove: (ids) => retryWhileLocked(() => removal.where("id", "in", ids).execute()),
      },
      signal,
    );
    if (signal.aborted) return;
    await retryWhileLocked(() =>
      write.deleteFrom("Dataset").where("workspace", "=", workspace).where("id", "=", id).execute(),
    );
  }
}
