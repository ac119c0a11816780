import { type QueryExecutorProvider, sql } from "kysely";
import { createPause } from "../../limits/turns.ts";
import { type ChangeFeed, keepListening, type ListeningClient } from "../changeFeed.ts";
import type { PubSub } from "../pubsub.ts";

const CHANGES = "gabbro_changes";
const PROMPTS = "gabbro_prompts";
const LOGS = "gabbro_logs";

interface Executor {
  execute(statement: string, values?: unknown[]): Promise<unknown>;
}

/**
 * Follows the commits of other gateways by LISTEN; `self` is the id of this gateway in its own notifications. Resolves once it
 * listens, as a subscription that began before would end then, or else after the first attempt.
 */
export async function openPostgresqlChangeFeed(
  self: string,
  newClient: () => ListeningClient,
  pubSub: Pick<PubSub, "publish" | "endListening" | "prompts">,
): Promise<ChangeFeed<Executor>> {
  let changes = 0;
  let countsWhileDeaf = 0;
  const publishLog = inTurns(pubSub.publish);
  const publishChange = inTurns(pubSub.prompts.publish);
  const listener = keepListening(newClient, {
    // Notifications may have been missed.
    begin: () => {
      changes += 1;
      pubSub.prompts.publishToAll(null);
      pubSub.endListening();
    },
    handlers: {
      [CHANGES]: (origin) => {
        if (origin !== self) changes += 1;
      },
      [PROMPTS]: (payload) => {
        const { origin, workspaceId, ...message } = JSON.parse(payload);
        if (origin === self) return;
        changes += 1; // its notification of a change follows, and subscribers must not read a cached prompt before
        publishChange(workspaceId, message);
      },
      [LOGS]: (payload) => {
        const { origin, workspaceId, id, traceId, promptSlug } = JSON.parse(payload);
        if (origin !== self) publishLog(workspaceId, { id, traceId, promptSlug });
      },
    },
  });
  await listener.attempted;
  return {
    // While the connection is lost, the count changes with each call, so that cached values are not used.
    countWrites: () => changes + (listener.isLive() ? countsWhileDeaf : ++countsWhileDeaf),
    countHeardWrites: () => changes,
    countCommits: () => null,
    notify: async (em) => void (await em.execute(`notify ${CHANGES}, '${self}'`)),
    notifyOfPrompt: async (em, workspaceId, message) => {
      const payload = JSON.stringify({ origin: self, workspaceId, ...message });
      await em.execute("select pg_notify(?, ?)", [PROMPTS, payload]);
    },
    close: listener.close,
  };
}

/** Messages that wait to be published; beyond it, the oldest is published at once. */
const MAX_WAITING = 10_000;

/**
 * Publishes messages of other gateways with other requests in between: 10,000 notifications come in a few packets, and each may go
 * to 100 subscribers of logs, or 500 of a prompt.
 */
function inTurns<Message>(publish: Publish<Message>): Publish<Message> {
  const waiting: Parameters<Publish<Message>>[] = [];
  let isPublishing = false;
  const publishNext = () => publish(...waiting.shift()!);
  const publishAll = async () => {
    isPublishing = true;
    const pause = createPause();
    while (waiting.length > 0) {
      publishNext();
      await pause();
    }
    isPublishing = false;
  };
  return (workspaceId, message) => {
    waiting.push([workspaceId, message]);
    if (!isPublishing) void publishAll();
    if (waiting.length > MAX_WAITING) publishNext();
  };
}

type Publish<Message> = (workspaceId: string, message: Message) => void;

/** How long a transaction with the rows of several requests waits for a lock. */
export const SHARED_LOCK_TIMEOUT = "50ms";

/**
 * Notifies other gateways of new logs, in the transaction that stores them. A shared transaction then has no limit for locks any
 * more: its commit waits for those of all others that notify, which is no reason to end it.
 */
export async function notifyOfLogs(
  self: string,
  transaction: QueryExecutorProvider,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== "Log") return;
  const payloads = rows.map(({ id, workspace: workspaceId, trace: traceId, promptSlug }) =>
    JSON.stringify({ origin: self, workspaceId, id, traceId, promptSlug: promptSlug ?? "" }),
  );
  const timeout = sql`current_setting('lock_timeout')`;
  const lifted = sql`case when ${timeout} = ${SHARED_LOCK_TIMEOUT} then '0' else ${timeout} end`;
  await sql`select set_config('lock_timeout', ${lifted}, true), pg_notify(${LOGS}, payload) from unnest(cast(${payloads} as text[])) as payload`.execute(
    transaction,
  );
}
