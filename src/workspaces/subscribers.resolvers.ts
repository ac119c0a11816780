import type { Context } from "../context.ts";
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

/** Whether the subscriber may still read, before it is sent an event. */
export async function mayStillRead(context: Context): Promise<boolean> {
  try {
    return (await context.reauthenticate()) !== null; // a token's scopes never change
  } catch {
    return false; // the token is no longer valid, or nobody knows
  }
}
