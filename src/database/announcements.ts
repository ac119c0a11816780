import { Repeater } from "@graphql-yoga/subscription";

/** What is told of a log once it is committed. */
export interface LogAnnouncement {
  id: string;
  promptSlug: string;
}

type Listener = { tell: (announcement: LogAnnouncement) => void; end: () => void };

/**
 * Tells those who listen in this process what was committed in their workspace. Who falls more than a thousand
 * announcements behind is cut off, so that nobody misses one without knowing.
 */
export function createAnnouncements() {
  const listeners = new Map<string, Set<Listener>>();
  const of = (workspaceId: string) => listeners.get(workspaceId) ?? new Set<Listener>();
  return {
    announce: (workspaceId: string, announcement: LogAnnouncement): void => {
      for (const { tell } of of(workspaceId)) tell(announcement);
    },
    /** What is announced in a workspace from now on, until the listener has had enough or the service closes. */
    listen: (workspaceId: string): Repeater<LogAnnouncement> =>
      new Repeater<LogAnnouncement>(async (push, stop) => {
        const listener: Listener = {
          tell: (announcement) => {
            try {
              void push(announcement);
            } catch {
              stop(); // the repeater holds no more
            }
          },
          end: () => stop(),
        };
        listeners.set(workspaceId, of(workspaceId).add(listener));
        await stop;
        of(workspaceId).delete(listener);
        if (of(workspaceId).size === 0) listeners.delete(workspaceId);
      }),
    /** How many listen. */
    count: (): number => [...listeners.values()].reduce((sum, { size }) => sum + size, 0),
    close: (): void => {
      for (const { end } of [...listeners.values()].flatMap((some) => [...some])) end();
    },
  };
}
