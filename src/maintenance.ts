import { deleteEndedSessions } from "./console/sessions.resolvers.ts";
import type { Database } from "./database/open.ts";
import { removeDeletedDatasets } from "./datasets/removal.resolvers.ts";
import { removeUnusedFiles } from "./files/removal.resolvers.ts";
import type { App } from "./http/app.ts";
import { removeOldRejected } from "./inbox/recording.resolvers.ts";
import { removeExpiredTraces } from "./logs/retention.resolvers.ts";
import { removeDeletedPrompts } from "./prompts/removal.resolvers.ts";
import { deleteOldResponses } from "./workspaces/idempotency.resolvers.ts";

const INTERVAL_MS = 60_000;

/**
 * Regularly removes expired answers of idempotent requests, old rejected items, files that were never uploaded, ended sessions,
 * the contents of deleted datasets and prompts, and traces that are older than `retentionDays`. A run that was interrupted goes on in the
 * next one.
 */
export function cleanUpRegularly(app: App, database: Database, retentionDays: number | null): void {
  const warn = (error: unknown) => app.log.warn(error, "cannot remove expired or deleted data");
  repeat(app, database, async (signal) => {
    await deleteOldResponses(database, signal).catch(warn);
    await removeUnusedFiles(database, signal).catch(warn);
    await removeOldRejected(database, signal).catch(warn);
    await removeDeletedDatasets(database, signal).catch(warn);
    await removeDeletedPrompts(database, signal).catch(warn);
    await deleteEndedSessions(database, signal).catch(warn);
  });
  // Apart from the others, as a run may take hours.
  if (retentionDays !== null)
    repeat(app, database, (signal) => removeExpiredTraces(database, retentionDays, signal).catch(warn));
}

/** Does work every minute, unless it is still under way, until the service stops. */
function repeat(app: App, database: Database, work: (signal: AbortSignal) => Promise<void>): void {
  const closing = new AbortController();
  let isUnderWay = false;
  const run = async () => {
    isUnderWay = true;
    await work(closing.signal);
    isUnderWay = false;
  };
  const timer = setInterval(() => isUnderWay || database.track(run()), INTERVAL_MS).unref();
  app.addHook("preClose", async () => {
    clearInterval(timer);
    closing.abort();
  });
}
