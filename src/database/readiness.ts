import { setTimeout as wait } from "node:timers/promises";
import type { Database } from "./open.ts";

const PATIENCE_MS = 2_000;

/**
 * Makes the question whether a database answers within 2 s, and not only that it can be reached: a row is read. All who ask
 * it meanwhile share one answer.
 */
export function createReadiness({ orm, read }: Database): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined;
  const check = async () => {
    const [{ ok }] = await Promise.all([
      orm.checkConnection(),
      read.selectFrom("Workspace").select("createdAt").limit(1).execute(),
    ]);
    return ok;
  };
  const ask = async () => {
    const answer = check().catch(() => false);
    try {
      return await Promise.race([answer, wait(PATIENCE_MS, false, { ref: false })]);
    } finally {
      asked = undefined; // one that never comes keeps nobody from asking again
    }
  };
  return () => {
    asked ??= ask();
    return asked;
  };
}
