import { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import type { Subscriber } from "../database/pubsub.ts";
import { GabbroError } from "../errors.ts";
import { authenticated, authorize } from "./resolvers.ts";

/** The caller as a subscriber, who needs the scope `read`. */
export function subscriberOf(context: Context): Subscriber {
  const workspaceId = authorize(context, "read");
  const { tokenId, sessionId } = authenticated(context);
  const id = sessionId ?? tokenId;
  return { workspaceId, tokenId, ...(id !== null && { caller: { id, hasEnded: () => hasEnded(context) } }) };
}

/** Whether the token is known to be valid no more. A database that fails ends no subscription. */
async function hasEnded(context: Context): Promise<boolean> {
  try {
    return (await context.reauthenticate()) === null;
  } catch (error) {
    return error instanceof GabbroError && error.code === "UNAUTHENTICATED";
  }
}

const MAX_SHARED_CHECKS = 1_000;
/** For so long an event may still be sent for a token that another process revoked while this one could not hear of it. */
const SHARED_MS = 1_000;

const sharedChecks = new WeakMap<Database["orm"], LRUCache<string, Promise<boolean>>>();

/**
 * Whether the subscriber may still read, before it is sent an event. Asked once for all subscriptions of a caller: while this
 * process cannot hear of other processes, the answer comes from the database each time.
 */
export function mayStillRead(context: Context): Promise<boolean> {
  const { orm, generation } = context.database;
  const { caller } = subscriberOf(context);
  if (!caller) return isStillValid(context);
  const checks = sharedChecks.get(orm) ?? new LRUCache({ max: MAX_SHARED_CHECKS, ttl: SHARED_MS });
  sharedChecks.set(orm, checks);
  const key = `${generation.heard()} ${caller.id}`;
  const shared = checks.get(key) ?? isStillValid(context);
  if (!checks.has(key)) checks.set(key, shared);
  return shared;
}

async function isStillValid(context: Context): Promise<boolean> {
  try {
    return (await context.reauthenticate()) !== null; // a token's scopes never change
  } catch {
    return false; // the token is no longer valid, or nobody knows
  }
}
