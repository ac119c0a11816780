import { Repeater } from "@graphql-yoga/subscription";
import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import type { LogAddedMessage } from "../database/pubsub.ts";
import { MAX_EVENT_BYTES, newAnswerBudget } from "../limits/answerBudget.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { createPause } from "../limits/turns.ts";
import { mayStillRead, subscriberOf } from "../workspaces/subscribers.resolvers.ts";
import type { LogRecord } from "./entities.ts";
import { share } from "./payloads.resolvers.ts";
import { getTrace } from "./resolvers.ts";
import { findLogRows } from "./rows.resolvers.ts";

/** The time limit of one event. */
const MAX_EVENT_MS = 10_000;

/**
 * The logs that are added from now on, of one prompt or of all, each after its commit. The stream ends within a
 * second of the token's end, when the service closes, after an hour, and when the subscriber falls too far behind.
 */
export function logAdded(
  context: Context,
  { slug }: { slug?: string | null | undefined },
): Repeater<LogRecord> {
  return logsFrom(
    context,
    ({ promptSlug }) => slug == null || slug === promptSlug,
    (log) => slug == null || slug === log.promptSlug,
  );
}

/** Tells subscribers of logs that are stored; others are served meanwhile, as each log may wait for 100 subscribers. */
export async function publishLogs(
  { database }: Context,
  workspaceId: string,
  logs: { id: string; trace: string; promptSlug: string | null }[],
): Promise<void> {
  const pause = createPause();
  for (const { id, trace: traceId, promptSlug } of logs) {
    database.pubSub.publish(workspaceId, { id, traceId, promptSlug: promptSlug ?? "" });
    await pause();
  }
}

/** The logs whose message is of interest, and that still are once they are read. */
function logsFrom(
  context: Context,
  isWanted: (message: LogAddedMessage) => boolean,
  isMatch: (log: LogRecord) => boolean = () => true,
): Repeater<LogRecord> {
  const subscriber = subscriberOf(context);
  const { workspaceId } = subscriber;
  const { pubSub, turn } = context.database;
  // Picked as they are published: 100 subscribers that each waited for 512 of no interest kept others waiting for 0.25 s.
  const messages = pubSub.listen(subscriber, isWanted);
  return new Repeater<LogRecord>(async (push, stop) => {
    void stop.then(() => messages.return(undefined));
    for await (const message of messages) {
      if (!(await mayStillRead(context))) break;
      context.endEvent = await events.acquire(workspaceId);
      try {
        await turn(workspaceId);
        beginEvent(context, workspaceId);
        const log = await sharedLog(context, workspaceId, message.id);
        if (!log || log.type === "internal" || !isMatch(log)) continue;
        await push(log);
      } finally {
        context.endEvent();
      }
    }
    stop();
  });
}

/**
 * Events whose answers are made at the same time. The subscribers of a workspace make theirs one after another: those of 100
 * to a log with its trace of 2,000 kept others waiting for 0.4 to 0.7 s. They wait as long as it takes: their number is bounded,
 * and one that falls behind is ended.
 */
const events = createFairQueue({
  places: 8,
  share: 1,
  maxWaiting: Number.POSITIVE_INFINITY,
  maxWaitMs: Number.POSITIVE_INFINITY,
  busy: "Too many events are under way.",
});

/**
 * The logs that are added to a trace from now on, each after its commit, and so how a running agent goes on. Ends like
 * `logAdded`. TRACE_NOT_FOUND when the workspace has no such trace.
 */
export async function traceChanged(context: Context, { id }: { id: string }): Promise<Repeater<LogRecord>> {
  const trace = await getTrace(context, { id });
  return logsFrom(context, ({ traceId }) => traceId === trace.id);
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
function sharedLog(context: Context, workspaceId: string, id: string): Promise<LogRecord | null> {
  const cache = sharedLogs.get(context.database) ?? newCache();
  sharedLogs.set(context.database, cache);
  const key = `${workspaceId} ${id}`;
  const cached = cache.get(key);
  if (cached) return cached;
  const read = readLog(context, id);
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

async function readLog(context: Context, id: string): Promise<LogRecord | null> {
  const [row] = await findLogRows(context, [id]);
  return row ? share(row) : null;
}
