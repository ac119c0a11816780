import { sql } from "kysely";
import { deleteInBatches } from "./deleteInBatches.ts";
import { lengthOf } from "./lengths.ts";
import type { Database } from "./open.ts";
import { retryWhileLocked } from "./retry.ts";

/** Tables whose rows expire, with the length of a row where it may be long. */
const bytesOf = {
  IdempotentAnswer: lengthOf("answer"),
  RejectedItem: sql<number>`0`,
  ConsoleSession: sql<number>`0`,
  SignInLink: sql<number>`0`,
};

interface Expiry {
  table: keyof typeof bytesOf;
  /** The time from which the age counts; `createdAt` when absent. */
  since?: "createdAt" | "lastUsedAt";
  maxAgeMs: number;
}

/** Deletes the rows that are at least `maxAgeMs` old, oldest first and in small steps, until `signal` aborts. */
export async function deleteOlder(
  { read, write }: Database,
  { table, since = "createdAt", maxAgeMs }: Expiry,
  signal: AbortSignal,
): Promise<void> {
  const expired = read
    .selectFrom(table as "ConsoleSession") // only this one has a `lastUsedAt`, and only for it that is asked for
    .select(["id", bytesOf[table].as("bytes")])
    .where(since, "<=", new Date(Date.now() - maxAgeMs))
    .orderBy(since);
  await deleteInBatches(
    {
      find: (most) => expired.limit(most).execute(),
      remove: (ids) => retryWhileLocked(() => write.deleteFrom(table).where("id", "in", ids).execute()),
    },
    signal,
  );
}
