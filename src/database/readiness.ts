import { setTimeout as wait } from "node:timers/promises";

const PATIENCE_MS = 2_000;

/** Makes the question whether a database answers within 2 s; all who ask it meanwhile share one answer. */
export function createReadiness(check: () => Promise<boolean>): () => Promise<boolean> {
  let asked: Promise<boolean> | undefined;
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
