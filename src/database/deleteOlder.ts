import { deleteInBatches } from "./deleteInBatches.ts";
import type { Database } from "./open.ts";
import { retryWhileLocked } from "./retry.ts";

/** Deletes the rows that are at least `maxAgeMs` old, oldest first and in small steps, until `signal` aborts. */
export async function deleteOlder(
  { read, write }: Database,
  { table, maxAgeMs }: { table: "IdempotentAnswer" | "RejectedItem"; maxAgeMs: number },
  signal: AbortSignal,
): Promise<void> {
  const expired = read
    .selectFrom(table)
    .select("id")
    .where("createdAt", "<=", new Date(Date.now() - maxAgeMs))
    .orderBy("createdAt");
  await deleteInBatches(
    {
      find: (most) => expired.limit(most).execute(),
      remove: (ids) => retryWhileLocked(() => write.deleteFrom(table).where("id", "in", ids).execute()),
    },
    signal,
  );
}
