import { sql } from "kysely";
import { deleteInBatches } from "../database/deleteInBatches.ts";
import { lengthOf } from "../database/lengths.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { DELETED_SLUGS, softDeleted } from "../database/softDeleted.ts";
import { TEXTS } from "./contents.resolvers.ts";
import { type Dataset, DatasetColumnsRevision, DatasetRow, DatasetRowRevision } from "./entities.ts";

/**
 * Deletes a dataset in the transaction of `em`. One with rows or revisions is soft-deleted, which frees its slug;
 * `removeDeletedDatasets` removes it later: a request that removed 285 MB of rows had the writes of others wait for 0.2 s.
 */
export async function removeDataset(em: EntityManager, dataset: Dataset): Promise<void> {
  const first = { fields: ["id"], limit: 1 } as const;
  const parts = { dataset: dataset.id };
  const found = [
    ...(await em.find(DatasetRow, parts, first)),
    ...(await em.find(DatasetRowRevision, parts, first)),
    ...(await em.find(DatasetColumnsRevision, parts, first)),
  ];
  if (found.length === 0) {
    em.remove(dataset);
    return;
  }
  // A change of a unique key locks the dataset against new rows on PostgreSQL as well.
  dataset.slug = DELETED_SLUGS + dataset.id;
  dataset.deletedAt = new Date();
}

/** Removes soft-deleted datasets in small steps, until all are gone or `signal` aborts. */
export async function removeDeletedDatasets(database: Database, signal: AbortSignal): Promise<void> {
  const { read, write } = database;
  for await (const { id, workspace } of softDeleted(database, "Dataset")) {
    for (const part of ["DatasetRow", "DatasetRowRevision", "DatasetColumnsRevision"] as const)
      await removePart({ read, write }, { part, workspace, dataset: id }, signal);
    if (signal.aborted) return;
    await retryWhileLocked(() =>
      write.deleteFrom("Dataset").where("workspace", "=", workspace).where("id", "=", id).execute(),
    );
  }
}

const textsOf = {
  DatasetRow: TEXTS,
  DatasetRowRevision: TEXTS,
  DatasetColumnsRevision: ["columns", "removedColumns"],
} as const;

interface Part {
  part: keyof typeof textsOf;
  workspace: string;
  dataset: string;
}

/** The column behind dataset and workspace in an index: without one, SQLite sorts 300,000 changes of columns for each 500 of them. */
const indexedBy = { DatasetColumnsRevision: "until", DatasetRowRevision: "id", DatasetRow: "id" } as const;

async function removePart(
  { read, write }: Pick<Database, "read" | "write">,
  { part, workspace, dataset }: Part,
  signal: AbortSignal,
): Promise<void> {
  const entries = read
    .selectFrom(part)
    .select(["id", sql<number>`${sql.join(textsOf[part].map(lengthOf), sql` + `)}`.as("bytes")])
    .where("workspace", "=", workspace)
    .where("dataset", "=", dataset)
    .orderBy(sql.ref(indexedBy[part]));
  const removal = write.deleteFrom(part).where("workspace", "=", workspace);
  await deleteInBatches(
    {
      // Continues after the last batch: scanning removed rows takes PostgreSQL longer each time, until a vacuum.
      find: (maxRows, after) =>
        (indexedBy[part] === "id" ? entries.where("id", ">", after) : entries).limit(maxRows).execute(),
      remove: (ids) => retryWhileLocked(() => removal.where("id", "in", ids).execute()),
    },
    signal,
  );
}
