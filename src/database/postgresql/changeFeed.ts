import { type Kysely, sql } from "kysely";
import { type ChangeFeed, keepListening, type ListeningClient } from "../changeFeed.ts";
import type { LogAddedMessage } from "../pubsub.ts";

const CHANGES = "gabbro_changes";
const LOGS = "gabbro_logs";
/** PostgreSQL takes at most 8,000 bytes; a longer slug is left out, and read with the log. */
const LONGEST_SLUG = 1_000;

interface Executor {
  execute(statement: string): Promise<unknown>;
}

/** Follows the commits of other gateways by LISTEN; `self` is the id that this one signs its own notifications with. */
export function openPostgresqlChangeFeed(
  self: string,
  newClient: () => ListeningClient,
  publish: (workspaceId: string, log: LogAddedMessage) => void,
): ChangeFeed<Executor> {
  let changes = 0;
  const listener = keepListening(newClient, {
    begin: () => {
      changes += 1;
    },
    handlers: {
      [CHANGES]: (origin) => {
        if (origin !== self) changes += 1;
      },
      [LOGS]: (payload) => {
        const { origin, workspaceId, id, promptSlug } = JSON.parse(payload);
        if (origin !== self) publish(workspaceId, { id, promptSlug });
      },
    },
  });
  return {
    // Never the same twice while the connection is lost: what is cached then is not found again.
    countWrites: () => (listener.isLive() ? changes : ++changes),
    notify: async (em) => void (await em.execute(`notify ${CHANGES}, '${self}'`)),
    close: listener.close,
  };
}

/** Notifies other gateways of new logs, in the transaction that stores them. */
export async function notifyOfLogs(
  self: string,
  transaction: Pick<Kysely<never>, "getExecutor">,
  entity: string,
  rows: Record<string, unknown>[],
): Promise<void> {
  if (entity !== "Log") return;
  const payloads = rows.map(({ id, workspace, promptSlug }) => {
    const slug = String(promptSlug).length > LONGEST_SLUG ? null : promptSlug;
    return JSON.stringify({ origin: self, workspaceId: workspace, id, promptSlug: slug });
  });
  await sql`select pg_notify(${LOGS}, payload) from unnest(cast(${payloads} as text[])) as payload`.execute(
    transaction,
  );
}
