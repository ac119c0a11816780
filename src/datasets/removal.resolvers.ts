import { deleteInBatches } from "../database/deleteInBatches.ts";
import { retryWhileLocked } from "../database/groupCommit.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { type Dataset, DatasetRow } from "./entities.ts";

/** Up to so many rows go with their dataset, in one statement: 100 of 9 MB take SQLite half a second. */
const FEW_ROWS = 5;

/**
 * Removes a dataset in the transaction of `em`. One with many rows is only put out of sight, with its slug free for
 * another; `removeDeletedDatasets` removes it.
 */
export async function removeDataset(em: EntityManager, dataset: Dataset): Promise<void> {
  const rest = { fields: ["id"], orderBy: { id: "asc" }, offset: FEW_ROWS, limit: 1 } as const;
  const isSmall = (await em.find(DatasetRow, { dataset: dataset.id }, rest)).length === 0;
  if (isSmall) {
    em.remove(dataset);
    return;
  }
  dataset.slug = `~${dataset.id}`; // by which PostgreSQL also has those wait who are adding rows: the slug is in a unique key
  dataset.deletedAt = new Date();
}

/** Removes what is out of sight, in small steps, until all is gone or `signal` says to stop. */
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
        // From where it stopped: to go over what is removed but not yet cleaned up takes PostgreSQL longer each time.
        find: (most, after) => rows.where("id", ">", after).limit(most).execute(),
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
