import DataLoader from "dataloader";
import { runShared } from "../limits/eventLoop.ts";
import type { Database } from "./open.ts";
import { retryWhileLocked } from "./retry.ts";

export const LAST_USED_PRECISION_MS = 60_000;
const MAX_USES_IN_STATEMENT = 500;

export interface Use {
  workspaceId: string;
  id: string;
}

/**
 * Creates what records when tokens or sessions were last used, to the minute: more precision would take a write for every
 * read. The uses of one turn of the event loop are written together: 500 commits of SQLite would take half a second of it.
 */
export function createRecordUse(
  { write }: Database,
  table: "AccessToken" | "ConsoleSession",
): (use: Use) => Promise<void> {
  const store = (workspaceId: string, ids: string[]) =>
    retryWhileLocked(() =>
      write
        .updateTable(table as "ConsoleSession") // both have these columns
        .set({ lastUsedAt: new Date() })
        .where("workspace", "=", workspaceId)
        .where("id", "in", ids)
        .execute(),
    );
  const uses = new DataLoader<Use, undefined>(
    async (some) => {
      const byWorkspace = Map.groupBy(some, ({ workspaceId }) => workspaceId);
      // For the workspace, as a token that is being revoked has the statement wait for seconds.
      for (const [workspaceId, ofWorkspace] of byWorkspace)
        await runShared(workspaceId, () => store(workspaceId, [...new Set(ofWorkspace.map(({ id }) => id))]));
      return some.map(() => undefined);
    },
    { cache: false, maxBatchSize: MAX_USES_IN_STATEMENT, batchScheduleFn: (run) => void setImmediate(run) },
  );
  return (use) => uses.load(use);
}
