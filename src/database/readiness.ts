import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "./open.ts";

const TIMEOUT_MS = 2_000;

/**
 * Makes the check whether the database answers a query within 2 s; a connection alone does not prove that it works.
 * Concurrent calls share one check.
 */
export function createReadiness({ orm, read }: Database): () => Promise<boolean> {
  let running: Promise<boolean> | undefined;
  const check = async () => {
    const [{ ok }] = await Promise.all([
      orm.checkConnection(),
      read.selectFrom("Workspace").select("createdAt").limit(1).execute(),
    ]);
    return ok;
  };
  const checkInTime = async () => {
    const answer = check().catch(() => false);
    try {
      return await Promise.race([answer, wait(TIMEOUT_MS, false, { ref: false })]);
    } finally {
      running = undefined; // after a timeout too, so that a check that never ends does not block later ones
    }
  };
  return () => {
    running ??= checkInTime();
    return running;
  };
}
