import { deleteOlder } from "../database/deleteOlder.ts";
import type { Database } from "../database/open.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { createRejectionQueue, type Rejection, type Row } from "./queue.ts";

const MAX_ITEMS = 1_000;
const RETENTION_MS = 7 * 24 * 60 * 60 * 1_000;
const MAX_NAME_CHARACTERS = 200;
const MAX_TEXT_CHARACTERS = 500;
/** SQLite blocks other requests while it stores them. */
const MAX_STATEMENT_ROWS = 100;

const queues = new WeakMap<Database["orm"], ReturnType<typeof createRejectionQueue>>();

function queueOf({ orm }: Pick<Database, "orm">) {
  const queue = queues.get(orm) ?? createRejectionQueue();
  queues.set(orm, queue);
  return queue;
}

/**
 * Records something that was rejected, in memory until `storeRejected` stores it, so that it costs and fails nothing. Texts
 * are cut, and never show an access token.
 */
export function recordRejected(
  database: Pick<Database, "orm">,
  workspaceId: string,
  { endpoint, client, reason, sample, ...rest }: Rejection,
): void {
  queueOf(database).add(workspaceId, {
    ...rest,
    endpoint: cut(endpoint, MAX_NAME_CHARACTERS),
    client: client === null ? null : cut(client, MAX_NAME_CHARACTERS),
    reason: cut(reason, MAX_TEXT_CHARACTERS),
    sample: sample === null ? null : cut(sample, MAX_TEXT_CHARACTERS),
  });
}

const TOKEN = /gab_[0-9A-Za-z]{8,}/g;

/** The beginning of a text, as a copy, which does not keep the whole text in memory; PostgreSQL stores no NUL. */
function cut(text: string, maxCharacters: number): string {
  const beginning = text
    .slice(0, 2 * maxCharacters)
    .replaceAll(TOKEN, masked)
    .replaceAll("\0", "\ufffd");
  return Buffer.from(beginning.slice(0, maxCharacters)).toString();
}

/** As long as before: a secret that begins beyond the cut stays there. */
export const masked = (secret: string): string => "*".repeat(secret.length);

/** Stores what was recorded since the last call, and removes what a workspace has beyond its most. */
export async function storeRejected(database: Database): Promise<void> {
  const rows = queueOf(database).take();
  for (let from = 0; from < rows.length; from += MAX_STATEMENT_ROWS)
    await retryWhileLocked(() => put(database, rows.slice(from, from + MAX_STATEMENT_ROWS)));
  for (const workspace of new Set(rows.map((row) => row.workspace)))
    await retryWhileLocked(() => removeOldest(database, workspace));
}

const put = ({ write }: Database, rows: Row[]) =>
  write
    .insertInto("RejectedItem")
    .values(rows)
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet(({ ref }) => ({ count: ref("excluded.count") })),
    )
    .execute();

const removeOldest = ({ write }: Database, workspace: string) =>
  write
    .deleteFrom("RejectedItem")
    .where("workspace", "=", workspace)
    .where("id", "<=", ({ selectFrom }) =>
      selectFrom("RejectedItem")
        .select("id")
        .where("workspace", "=", workspace)
        .orderBy("id", "desc")
        .offset(MAX_ITEMS)
        .limit(1),
    )
    .execute();

/** Removes rejected items after 7 days, in small steps, until `signal` aborts. */
export const removeOldRejected = (database: Database, signal: AbortSignal): Promise<void> =>
  deleteOlder(database, { table: "RejectedItem", maxAgeMs: RETENTION_MS }, signal);
