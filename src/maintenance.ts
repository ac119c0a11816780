import type { Database } from "./database/open.ts";
import { removeDeletedDatasets } from "./datasets/removal.resolvers.ts";
import type { App } from "./http/app.ts";
import { removeDeletedPrompts } from "./prompts/removal.resolvers.ts";
import { deleteOldResponses } from "./workspaces/idempotency.resolvers.ts";

const CLEARING_INTERVAL_MS = 60_000;

/** Clears away what nobody asks for any more: answers too old to be repeated, and what belongs to deleted datasets and prompts. */
export function clearRegularly(app: App, database: Database): void {
  const closing = new AbortController();
  let isUnderWay = false;
  const warn = (error: unknown) => app.log.warn(error, "cannot clear away what is old or deleted");
  const clear = async () => {
    isUnderWay = true;
    await deleteOldResponses(database, closing.signal).catch(warn);
    await removeDeletedDatasets(database, closing.signal).catch(warn);
    await removeDeletedPrompts(database, closing.signal).catch(warn);
    isUnderWay = false;
  };
  const timer = setInterval(() => isUnderWay || database.track(clear()), CLEARING_INTERVAL_MS).unref();
  app.addHook("preClose", async () => {
    clearInterval(timer);
    closing.abort();
  });
}
