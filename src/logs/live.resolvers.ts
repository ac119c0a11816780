import { Repeater } from "@graphql-yoga/subscription";
import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import { MAX_EVENT_BYTES, newAnswerBudget } from "../limits/answerBudget.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import type { Log } from "./entities.ts";
import { share } from "./payloads.resolvers.ts";

/** How long the work for one event may take. */
const MAX_EVENT_MS = 10_000;

/**
 * The logs that are added from now on, of one prompt or of all, each after its commit. It ends with the token's right to
 * read them, when the service closes, after an hour, and when the listener falls too far behind.
 */
export function logAdded(context: Context, { slug }: { slug?: string | null | undefined }): Repeater<Log> {
  const workspaceId = authorize(context, "read");
  const { pubSub, turn } = context.database;
  const { tokenId } = authenticated(context);
  const announced = pubSub.listen({ workspaceId, tokenId });
  return new Repeater<Log>(async (push, stop) => {
    void stop.then(() => announced.return(undefined));
    for await (const { id, promptSlug } of announced) {
      if (slug != null && promptSlug !== null && slug !== promptSlug) continue;
      if (!(await mayStillRead(context))) break;
      const log = await sharedLog(context.database, workspaceId, id);
      if (!log || (slug != null && slug !== log.promptSlug)) continue;
      await turn(workspaceId);
      beginEvent(context, workspaceId);
      await push(log);
    }
    stop();
  });
}

/** Each event is executed like a request of its own; what was loaded for the one before is let go. */
function beginEvent(context: Context, workspaceId: string): void {
  context.em = context.database.fork(workspaceId);
  context.answerBudget = newAnswerBudget({ maxBytes: MAX_EVENT_BYTES });
  context.deadline = { atMs: performance.now() + MAX_EVENT_MS };
}

const MAX_SHARED_LOGS = 8;
const SHARED_MS = 2_000;

const sharedLogs = new WeakMap<Database, LRUCache<string, Promise<Log | null>>>();

/** A log that is read once for all who hear of it at the same time; null when it is gone. */
function sharedLog(database: Database, workspaceId: string, id: string): Promise<Log | null> {
  const cache = sharedLogs.get(database) ?? newCache();
  sharedLogs.set(database, cache);
  const key = `${workspaceId} ${id}`;
  const known = cache.get(key);
  if (known) return known;
  const read = readLog(database, workspaceId, id);
  read.catch(() => cache.delete(key));
  cache.set(key, read);
  return read;
}

const newCache = () =>
  new LRUCache<string, Promise<Log | null>>({ max: MAX_SHARED_LOGS, ttl: SHARED_MS, ttlAutopurge: true });

async function readLog({ read }: Database, workspaceId: string, id: string): Promise<Log | null> {
  const row = await read
    .selectFrom("Log")
    .select(["id", "workspace", "trace", "type", "prompt", "promptSlug", "version", "tag", "model"])
    .select(["startTime", "endTime", "latencyMs", "inputTokens", "outputTokens", "cost", "costSource"])
    .where("workspace", "=", workspaceId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ? share(row as unknown as Log) : null;
}

async function mayStillRead(context: Context): Promise<boolean> {
  try {
    return (await context.reauthenticate()) !== null; // a token's scopes never change
  } catch {
    return false; // the token works no more
  }
}
