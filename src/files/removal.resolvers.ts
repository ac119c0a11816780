import { deleteInBatches } from "../database/deleteInBatches.ts";
import type { Database } from "../database/open.ts";
import { retryWhileLocked } from "../database/retry.ts";

const DAY_MS = 24 * 60 * 60_000;

/**
 * Removes the chunks of an upload, or those of all other uploads of the file, in small steps, each in the turn of its workspace:
 * many uploads may be broken off at once.
 */
export async function removeChunks(
  { read, write, turn }: Database,
  { id, workspace }: { id: string; workspace: string },
  { upload, which }: { upload: string; which: "its own" | "all others" },
): Promise<void> {
  const chunks = read
    .selectFrom("FileChunk")
    .select("id")
    .where("workspace", "=", workspace)
    .where("file", "=", id)
    .where("upload", which === "its own" ? "=" : "<>", upload)
    .orderBy("id");
  const removal = write.deleteFrom("FileChunk").where("workspace", "=", workspace);
  await deleteInBatches({
    find: async (maxRows, after) => {
      await turn(workspace);
      return chunks.where("id", ">", after).limit(maxRows).execute();
    },
    remove: (ids) => retryWhileLocked(() => removal.where("id", "in", ids).execute()),
  });
}

/** Removes files whose content has not arrived within a day, in small steps, until all are gone or `signal` aborts. */
export async function removeUnusedFiles({ read, write }: Database, signal: AbortSignal): Promise<void> {
  const unused = read
    .selectFrom("StoredFile")
    .select("id")
    .where("upload", "is", null)
    .where("createdAt", "<=", new Date(Date.now() - DAY_MS))
    .orderBy("createdAt");
  await deleteInBatches(
    {
      find: (maxRows) => unused.limit(maxRows).execute(),
      remove: (ids) =>
        retryWhileLocked(() => write.deleteFrom("StoredFile").where("id", "in", ids).execute()),
    },
    signal,
  );
}
