import { Repeater } from "@graphql-yoga/subscription";
import { GabbroError } from "../errors.ts";
import { createShares, type Share } from "../limits/shares.ts";

/** The message that is published once a log is committed. */
export interface LogAddedMessage {
  id: string;
  traceId: string;
  /** The empty text when the log names no prompt. */
  promptSlug: string;
}

/** The message that is published once a change of a prompt is committed. */
export interface PromptChangedMessage {
  slug: string;
  /** The operation that changed it, as in the audit log. */
  action: string;
  /** The tag that was moved, or `latest` for a new version; null when no tag was. */
  tag: string | null;
  /** The version that the tag points to now; null when there is none. */
  version: string | null;
}

/** A subscription counts for its token and for its workspace. */
export interface Subscriber {
  workspaceId: string;
  /** Null on the command line. */
  tokenId: string | null;
  /** Whose end ends the subscription: its session, or else its token. Absent on the command line. */
  caller?: { id: string; hasEnded: () => Promise<boolean> };
}

interface Listener<Message> extends Subscriber {
  deliver(message: Message): void;
  end(): void;
}

/**
 * Concurrent subscriptions of one token, of all tokens of a workspace, and of this process, which workspaces share: when
 * others have taken all, a further workspace still gets an equal share of them.
 */
export const MAX_SUBSCRIPTIONS = { token: 20, workspace: 100, process: 1_000 };
/** The same for changes of prompts, which are rare and small: each process of an application may follow its prompts. */
export const MAX_PROMPT_SUBSCRIPTIONS = { token: 500, workspace: 500, process: 2_000 };
/** A subscription ends after this time, and its client subscribes again. */
export const MAX_SUBSCRIPTION_MS = 3_600_000;
/** A subscription ends so long after its token at the latest. */
const CHECK_MS = 1_000;

/** Publishes to the subscribers in this process: logs that are added and, as `prompts`, changes of prompts. */
export function createPubSub() {
  const logs = createTopic<LogAddedMessage>(MAX_SUBSCRIPTIONS, { maxWaiting: MAX_WAITING_LOGS });
  const prompts = createTopic<PromptChangedMessage | null>(MAX_PROMPT_SUBSCRIPTIONS, {
    maxWaiting: MAX_WAITING_CHANGES,
    missed: null,
  });
  return {
    listen: logs.listen,
    publish: logs.publish,
    /** Ends all subscriptions to logs, of which some may have been missed: clients then listen again. */
    endListening: logs.endAll,
    /** The message null stands for changes that no message tells: before the subscription, beyond 16 that wait, or that may be lost. */
    prompts,
    /** The number of subscriptions. */
    count: (): number => logs.count() + prompts.count(),
    close: (): void => {
      logs.close();
      prompts.close();
    },
  };
}

export type PubSub = ReturnType<typeof createPubSub>;

type Limits = typeof MAX_SUBSCRIPTIONS;

/** What becomes of messages that a subscriber is too slow for. */
interface Backlog<Message> {
  maxWaiting: number;
  /** Stands for any number of messages. */
  missed?: Message;
}

const MAX_WAITING_LOGS = 1_000;
/** With a thousand for each of 500 subscribers of a prompt, half a million messages wait, and each needs a look at the prompt. */
const MAX_WAITING_CHANGES = 16;

/**
 * Publishes committed changes to the subscribers of their workspace in this process. Where `missed` stands for any number of
 * messages, a subscriber gets it first, and in place of what it is too slow for. Else the subscription of one that falls too far
 * behind ends, so that no subscriber misses a message unnoticed.
 */
function createTopic<Message>(limits: Limits, backlog: Backlog<Message>) {
  const listeners = new Set<Listener<Message>>();
  const endEndedCallers = createCallerChecks(listeners);
  const takePlace = createPlaces(listeners, limits);
  let checks: NodeJS.Timeout | undefined;
  let isClosed = false;
  const endAll = (): void => {
    for (const { end } of [...listeners]) end();
  };
  return {
    publish: (workspaceId: string, message: Message): void => {
      for (const listener of listeners) if (listener.workspaceId === workspaceId) listener.deliver(message);
    },
    publishToAll: (message: Message): void => {
      for (const { deliver } of listeners) deliver(message);
    },
    /**
     * The messages of a workspace from now on that `isWanted` picks, until the subscriber or its token ends, its time is up,
     * or the service closes; what waits then is dropped. Throws TOO_MANY_REQUESTS beyond the limits.
     */
    listen: (subscriber: Subscriber, isWanted: (message: Message) => boolean = () => true) => {
      takePlace(subscriber).giveBack(1);
      return new Repeater<Message>(async (push, stop) => {
        if (isClosed) return stop();
        const endAtOnce = () => {
          listeners.delete(listener); // 10,000 messages may come in one turn
          stop();
        };
        const queue = createQueue(push, endAtOnce, backlog);
        const deliver = (message: Message) => {
          if (isWanted(message)) queue.add(message);
        };
        const listener: Listener<Message> = { ...subscriber, deliver, end: stop };
        const share = takePlace(subscriber); // other subscriptions may have begun since
        const timer = setTimeout(stop, MAX_SUBSCRIPTION_MS).unref();
        if (listeners.size === 0) checks = setInterval(endEndedCallers, CHECK_MS).unref();
        listeners.add(listener);
        if (backlog.missed !== undefined) deliver(backlog.missed);
        await stop;
        queue.clear();
        clearTimeout(timer);
        listeners.delete(listener);
        if (listeners.size === 0) clearInterval(checks);
        share.giveBack(1);
      });
    },
    count: (): number => listeners.size,
    endAll,
    close: (): void => {
      isClosed = true;
      endAll();
    },
  };
}

/**
 * Gives one message at a time to `push`: each that waits in the queue of a repeater takes a chain of promises, and to end 100
 * subscriptions with a thousand each kept others waiting for 0.3 s. Calls `end` beyond `maxWaiting` messages, unless `missed`
 * stands for all further ones.
 */
function createQueue<Message>(
  push: (message: Message) => PromiseLike<unknown>,
  end: () => void,
  { maxWaiting, missed }: Backlog<Message>,
) {
  let waiting: Message[] = [];
  let isBehind = false;
  let isSending = false;
  const send = async () => {
    isSending = true;
    while (waiting.length > 0) {
      await push(waiting.shift()!);
      if (waiting.length > 0 || !isBehind) continue;
      isBehind = false;
      waiting.push(missed!);
    }
    isSending = false;
  };
  return {
    add: (message: Message): void => {
      if (waiting.length < maxWaiting) waiting.push(message);
      else if (missed === undefined) end();
      else isBehind = true;
      if (!isSending) void send();
    },
    clear: (): void => {
      waiting = [];
      isBehind = false;
    },
  };
}

/** Takes a place for a subscription; throws TOO_MANY_REQUESTS beyond the limits. */
function createPlaces(listeners: ReadonlySet<Subscriber>, limits: Limits) {
  const shares = createShares(limits.process);
  return ({ workspaceId, tokenId }: Subscriber): Share => {
    const ofWorkspace = [...listeners].filter((listener) => listener.workspaceId === workspaceId);
    const ofToken = ofWorkspace.filter((listener) => listener.tokenId === tokenId);
    if (ofToken.length >= limits.token) throw tooMany("This access token", limits.token);
    if (ofWorkspace.length >= limits.workspace) throw tooMany("This workspace", limits.workspace);
    const share = shares.take(workspaceId, 1);
    if (!share) throw tooMany("The service", limits.process);
    return share;
  };
}

/** Ends the subscriptions of callers who have ended. It asks once for all of a caller: each question may be a query. */
function createCallerChecks(listeners: ReadonlySet<Listener<never>>) {
  const checking = new Set<string>();
  const check = async ({ id, hasEnded }: Required<Subscriber>["caller"]) => {
    if (checking.has(id)) return; // the database is slow: more questions would not help it
    checking.add(id);
    const isOver = await hasEnded().finally(() => checking.delete(id));
    if (isOver) for (const { caller, end } of [...listeners]) if (caller?.id === id) end();
  };
  return () => {
    const callers = new Map<string, Required<Subscriber>["caller"]>();
    for (const { caller } of listeners) if (caller) callers.set(caller.id, caller);
    for (const caller of callers.values()) void check(caller);
  };
}

function tooMany(owner: string, limit: number): GabbroError {
  const message = `${owner} has ${limit} subscriptions open, which is its maximum. Close one first, or share the messages of one.`;
  return new GabbroError("TOO_MANY_REQUESTS", message, { headers: { "retry-after": "60" } });
}
