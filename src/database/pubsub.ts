import { Repeater } from "@graphql-yoga/subscription";
import { GabbroError } from "../errors.ts";

/** The message that is published once a log is committed. */
export interface LogAddedMessage {
  id: string;
  /** Null when it is too long for a message. */
  promptSlug: string | null;
}

/** Who listens: a subscription counts for its token and for its workspace. */
export interface SubscriberOf {
  workspaceId: string;
  /** Null on the command line. */
  tokenId: string | null;
}

interface Listener extends SubscriberOf {
  deliver(message: LogAddedMessage): void;
  end(): void;
}

/** How many subscriptions one token may have at a time, all tokens of a workspace, and all of this process. */
export const MAX_SUBSCRIPTIONS = { token: 20, workspace: 100, process: 1_000 };
/** After so long a subscription ends, and its client subscribes again. */
export const MAX_SUBSCRIPTION_MS = 3_600_000;
/** Up to a thousand messages wait for each listener, so each must be small. */
const MAX_SLUG = 1_000;

/**
 * Publishes committed logs to the subscribers of their workspace in this process. A subscriber that falls more than a
 * thousand messages behind is cut off, so that nobody misses one without knowing.
 */
export function createPubSub() {
  const listeners = new Set<Listener>();
  let isClosed = false;
  return {
    publish: (workspaceId: string, { id, promptSlug }: LogAddedMessage): void => {
      const isLong = promptSlug !== null && promptSlug.length > MAX_SLUG;
      const message = { id, promptSlug: isLong ? null : promptSlug };
      for (const listener of listeners) if (listener.workspaceId === workspaceId) listener.deliver(message);
    },
    /**
     * The messages of a workspace from now on, until the subscriber ends, its time is up, or the service closes. Throws
     * TOO_MANY_REQUESTS beyond MAX_SUBSCRIPTIONS.
     */
    listen: (who: SubscriberOf): Repeater<LogAddedMessage> => {
      refuseTooMany(listeners, who);
      return new Repeater<LogAddedMessage>(async (push, stop) => {
        if (isClosed) return stop();
        refuseTooMany(listeners, who); // others may have begun since
        const deliver = (message: LogAddedMessage) => {
          try {
            void push(message);
          } catch {
            stop(); // the repeater holds no more
          }
        };
        const listener = { ...who, deliver, end: stop };
        const timer = setTimeout(stop, MAX_SUBSCRIPTION_MS).unref();
        listeners.add(listener);
        await stop;
        clearTimeout(timer);
        listeners.delete(listener);
      });
    },
    /** How many listen. */
    count: (): number => listeners.size,
    close: (): void => {
      isClosed = true;
      for (const { end } of [...listeners]) end();
    },
  };
}

function refuseTooMany(listeners: Set<Listener>, { workspaceId, tokenId }: SubscriberOf): void {
  const ofWorkspace = [...listeners].filter((listener) => listener.workspaceId === workspaceId);
  const ofToken = ofWorkspace.filter((listener) => listener.tokenId === tokenId);
  if (ofToken.length >= MAX_SUBSCRIPTIONS.token) throw tooMany("This access token", MAX_SUBSCRIPTIONS.token);
  if (ofWorkspace.length >= MAX_SUBSCRIPTIONS.workspace)
    throw tooMany("This workspace", MAX_SUBSCRIPTIONS.workspace);
  if (listeners.size >= MAX_SUBSCRIPTIONS.process) throw tooMany("The service", MAX_SUBSCRIPTIONS.process);
}

function tooMany(owner: string, most: number): GabbroError {
  const message = `${owner} has ${most} subscriptions open, as many as it may have at a time. Close one first, or pass on what one receives.`;
  return new GabbroError("TOO_MANY_REQUESTS", message, { headers: { "retry-after": "60" } });
}
