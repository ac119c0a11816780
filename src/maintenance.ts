import { deleteEndedSessions } from "./console/sessions.resolvers.ts";
import type { Database } from "./database/open.ts";
import { removeDeletedDatasets } from "./datasets/removal.resolvers.ts";
import type { App } from "./http/app.ts";
import { removeDeletedPrompts } from "./prompts/removal.resolvers.ts";
import { deleteOldResponses } from "./workspaces/idempotency.resolvers.ts";

const INTERVAL_MS = 60_000;

/** Regularly removes expired answers of idempotent requests, ended sessions, and the contents of deleted datasets and prompts. */
export function cleanUpRegularly(app: App, database: Database): void {
  const closing = new AbortController();
  let isUnderWay = false;
  const warn = (error: unknown) => app.log.warn(error, "cannot remove expired or deleted data");
  const cleanUp = async () => {
    isUnderWay = true;
    await deleteOldResponses(database, closing.signal).catch(warn);
    await removeDeletedDatasets(database, closing.signal).catch(warn);
    await removeDeletedPrompts(database, closing.signal).catch(warn);
    await deleteEndedSessions(database).catch(warn);
    isUnderWay = false;
  };
  const timer = setInterval(() => isUnderWay || database.track(cleanUp()), INTERVAL_MS).unref();
  app.addHook("preClose", async () => {
    clearInterval(timer);
    closing.abort();
  });
}
