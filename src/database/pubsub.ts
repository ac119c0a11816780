import { Repeater } from "@graphql-yoga/subscription";
import { GabbroError } from "../errors.ts";

/** What is told of a log once it is committed. */
export interface LogAddedMessage {
  id: string;
  /** Null when it is too long to be told. */
  promptSlug: string | null;
}

/** Who listens: a subscription counts for its token and for its workspace. */
export interface SubscriberOf {
  workspaceId: string;
  /** Null on the command line. */
  tokenId: string | null;
}

interface Listener extends SubscriberOf {
  tell(announcement: LogAddedMessage): void;
  end(): void;
}

/** How many subscriptions one token may have at a time, all tokens of a workspace, and all of this process. */
export const MAX_SUBSCRIPTIONS = { token: 20, workspace: 100, process: 1_000 };
/** After so long a subscription ends, and its client subscribes again. */
export const MAX_SUBSCRIPTION_MS = 3_600_000;
/** Announcements wait, up to a thousand for each listener, so each must be small. */
const MAX_ANNOUNCED_SLUG = 1_000;

/**
 * Tells those who listen in this process what was committed in their workspace. Who falls more than a thousand
 * messages behind is cut off, so that nobody misses one without knowing.
 */
export function createPubSub() {
  const listeners = new Set<Listener>();
  let isClosed = false;
  return {
    announce: (workspaceId: string, { id, promptSlug }: LogAddedMessage): void => {
      const isLong = promptSlug !== null && promptSlug.length > MAX_ANNOUNCED_SLUG;
      const announcement = { id, promptSlug: isLong ? null : promptSlug };
      for (const listener of listeners) if (listener.workspaceId === workspaceId) listener.tell(announcement);
    },
    /**
     * What is announced in a workspace from now on, until the listener has had enough, its time is up, or the service
     * closes. Throws TOO_MANY_REQUESTS beyond MAX_SUBSCRIPTIONS.
     */
    listen: (who: SubscriberOf): Repeater<LogAddedMessage> => {
      refuseTooMany(listeners, who);
      return new Repeater<LogAddedMessage>(async (push, stop) => {
        if (isClosed) return stop();
        refuseTooMany(listeners, who); // others may have begun since
        const tell = (announcement: LogAddedMessage) => {
          try {
            void push(announcement);
          } catch {
            stop(); // the repeater holds no more
          }
        };
        const listener = { ...who, tell, end: stop };
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
