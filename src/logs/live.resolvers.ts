import { Repeater } from "@graphql-yoga/subscription";
import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import { MAX_EVENT_BYTES, newAnswerBudget } from "../limits/answerBudget.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import type { LogRecord } from "./entities.ts";
import { share } from "./payloads.resolvers.ts";

/** The time limit of one event. */
const MAX_EVENT_MS = 10_000;

/**
 * The logs that are added from now on, of one prompt or of all, each after its commit. The stream ends when the token is no
 * longer valid, when the service closes, after an hour, and when the subscriber falls too far behind.
 */
export function logAdded(
  context: Context,
  { slug }: { slug?: string | null | undefined },
): Repeater<LogRecord> {
  const workspaceId = authorize(context, "read");
  const { pubSub, turn } = context.database;
  const { tokenId } = authenticated(context);
  const messages = pubSub.listen({ workspaceId, tokenId });
  return new Repeater<LogRecord>(async (push, stop) => {
    void stop.then(() => messages.return(undefined));
    for await (const { id, promptSlug } of messages) {
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

/** Runs each event like a request of its own, so that what the last one loaded is freed. */
function beginEvent(context: Context, workspaceId: string): void {
  context.em = context.database.fork(workspaceId);
  context.answerBudget = newAnswerBudget({ maxBytes: MAX_EVENT_BYTES });
  context.deadline = { atMs: performance.now() + MAX_EVENT_MS };
}

const MAX_SHARED_LOGS = 8;
const SHARED_MS = 2_000;

const sharedLogs = new WeakMap<Database, LRUCache<string, Promise<LogRecord | null>>>();

/** Reads a log once for all its concurrent subscribers; null when it is gone. */
function sharedLog(database: Database, workspaceId: string, id: string): Promise<LogRecord | null> {
  const cache = sharedLogs.get(database) ?? newCache();
  sharedLogs.set(database, cache);
  const key = `${workspaceId} ${id}`;
  const cached = cache.get(key);
  if (cached) return cached;
  const read = readLog(database, workspaceId, id);
  read.catch(() => cache.delete(key));
  cache.set(key, read);
  return read;
}

const newCache = () =>
  new LRUCache<string, Promise<LogRecord | null>>({
    max: MAX_SHARED_LOGS,
    ttl: SHARED_MS,
    ttlAutopurge: true,
  });

async function readLog({ read }: Database, workspaceId: string, id: string): Promise<LogRecord | null> {
  const row = await read
    .selectFrom("Log")
    .select(["id", "workspace", "trace", "type", "prompt", "promptSlug", "version", "tag", "model"])
    .select(["startTime", "endTime", "latencyMs", "inputTokens", "outputTokens", "cost", "costSource"])
    .where("workspace", "=", workspaceId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ? share(row) : null;
}

async function mayStillRead(context: Context): Promise<boolean> {
  try {
    return (await context.reauthenticate()) !== null; // a token's scopes never change
  } catch {
    return false; // the token is no longer valid
  }
}
