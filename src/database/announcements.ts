import { setImmediate } from "node:timers/promises";
import { Repeater } from "@graphql-yoga/subscription";

/** What is told of a log once it is committed. */
export interface LogAnnouncement {
  id: string;
  /** Null when it is too long to be told. */
  promptSlug: string | null;
}

interface Listener {
  tell(announcement: LogAnnouncement): void;
  end(): void;
}

/**
 * Tells those who listen in this process what was committed in their workspace. Who falls more than a thousand
 * announcements behind is cut off, so that nobody misses one without knowing.
 */
export function createAnnouncements() {
  const listeners = new Map<Listener, string>();
  let isClosed = false;
  let lastTurn = Promise.resolve();
  return {
    announce: (workspaceId: string, announcement: LogAnnouncement): void => {
      for (const [{ tell }, listened] of listeners) if (listened === workspaceId) tell(announcement);
    },
    /** What is announced in a workspace from now on, until the listener has had enough or the service closes. */
    listen: (workspaceId: string): Repeater<LogAnnouncement> =>
      new Repeater<LogAnnouncement>(async (push, stop) => {
        if (isClosed) return stop();
        const tell = (announcement: LogAnnouncement) => {
          try {
            void push(announcement);
          } catch {
            stop(); // the repeater holds no more
          }
        };
        const listener = { tell, end: stop };
        listeners.set(listener, workspaceId);
        await stop;
        listeners.delete(listener);
      }),
    /** Lets listeners go on one by one: with many of them, or with many announcements, nobody else would get a turn. */
    turn: (): Promise<void> => {
      lastTurn = lastTurn.then(() => setImmediate());
      return lastTurn;
    },
    /** How many listen. */
    count: (): number => listeners.size,
    close: (): void => {
      isClosed = true;
      for (const { end } of [...listeners.keys()]) end();
    },
  };
}
