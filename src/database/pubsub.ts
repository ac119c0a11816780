import { Repeater } from "@graphql-yoga/subscription";
import { GabbroError } from "../errors.ts";

/** The message that is published once a log is committed. */
export interface LogAddedMessage {
  id: string;
  traceId: string;
  /** The empty text when the log names no prompt; null when the slug is too long for a message. */
  promptSlug: string | null;
}

/** A subscription counts for its token and for its workspace. */
export interface Subscriber {
  workspaceId: string;
  /** Null on the command line. */
  tokenId: string | null;
}

interface Listener extends Subscriber {
  deliver(message: LogAddedMessage): void;
  end(): void;
}

/** Concurrent subscriptions of one token, of all tokens of a workspace, and of this process. */
export const MAX_SUBSCRIPTIONS = { token: 20, workspace: 100, process: 1_000 };
/** A subscription ends after this time, and its client subscribes again. */
export const MAX_SUBSCRIPTION_MS = 3_600_000;
/** Messages must be small, because up to a thousand of them wait for each listener. */
const MAX_SLUG_CHARACTERS = 1_000;

/**
 * Publishes committed logs to the subscribers of their workspace in this process. The subscription of a subscriber that falls
 * more than a thousand messages behind ends, so that no subscriber misses a message unnoticed.
 */
export function createPubSub() {
  const listeners = new Set<Listener>();
  let isClosed = false;
  return {
    publish: (workspaceId: string, { id, traceId, promptSlug }: LogAddedMessage): void => {
      const isLong = promptSlug !== null && promptSlug.length > MAX_SLUG_CHARACTERS;
      const message = { id, traceId, promptSlug: isLong ? null : promptSlug };
      for (const listener of listeners) if (listener.workspaceId === workspaceId) listener.deliver(message);
    },
    /**
     * The messages of a workspace from now on, until the subscriber ends, its time is up, or the service closes. Throws
     * TOO_MANY_REQUESTS beyond MAX_SUBSCRIPTIONS.
     */
    listen: (subscriber: Subscriber): Repeater<LogAddedMessage> => {
      refuseTooMany(listeners, subscriber);
      return new Repeater<LogAddedMessage>(async (push, stop) => {
        if (isClosed) return stop();
        refuseTooMany(listeners, subscriber); // other subscriptions may have begun since
        const deliver = (message: LogAddedMessage) => {
          try {
            void push(message);
          } catch {
            stop(); // the queue of the repeater is full
          }
        };
        const listener = { ...subscriber, deliver, end: stop };
        const timer = setTimeout(stop, MAX_SUBSCRIPTION_MS).unref();
        listeners.add(listener);
        await stop;
        clearTimeout(timer);
        listeners.delete(listener);
      });
    },
    /** The number of subscriptions. */
    count: (): number => listeners.size,
    close: (): void => {
      isClosed = true;
      for (const { end } of [...listeners]) end();
    },
  };
}

function refuseTooMany(listeners: Set<Listener>, { workspaceId, tokenId }: Subscriber): void {
  const ofWorkspace = [...listeners].filter((listener) => listener.workspaceId === workspaceId);
  const ofToken = ofWorkspace.filter((listener) => listener.tokenId === tokenId);
  if (ofToken.length >= MAX_SUBSCRIPTIONS.token) throw tooMany("This access token", MAX_SUBSCRIPTIONS.token);
  if (ofWorkspace.length >= MAX_SUBSCRIPTIONS.workspace)
    throw tooMany("This workspace", MAX_SUBSCRIPTIONS.workspace);
  if (listeners.size >= MAX_SUBSCRIPTIONS.process) throw tooMany("The service", MAX_SUBSCRIPTIONS.process);
}

function tooMany(owner: string, limit: number): GabbroError {
  const message = `${owner} has ${limit} subscriptions open, which is its maximum. Close one first, or share the messages of one.`;
  return new GabbroError("TOO_MANY_REQUESTS", message, { headers: { "retry-after": "60" } });
}
