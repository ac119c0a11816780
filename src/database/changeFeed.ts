import { setTimeout as wait } from "node:timers/promises";

/** Reports the commits of other processes on the same database, and notifies them of those of this one. */
export interface ChangeFeed<Em = unknown> {
  /** A count that changes whenever another process may have committed something. */
  countWrites(): number;
  /** Notifies other processes of a unit of work, in its transaction. */
  notify(unitOfWork: Em): Promise<void>;
  close(): Promise<void>;
}

/** The part of a connection to PostgreSQL that listening needs. */
export interface ListeningClient {
  connect(): Promise<unknown>;
  query(statement: string): Promise<unknown>;
  on(event: "notification", handle: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: "error" | "end", lose: () => void): unknown;
  end(): Promise<void>;
  ref?(): void;
  unref?(): void;
}

const AGAIN_AFTER_MS = 500;
const HEARTBEAT_MS = 1_000;

interface Listener {
  /** Called whenever it listens again: what was cached before may be out of date. */
  begin: () => void;
  /** By channel. */
  handlers: Record<string, (payload: string) => void>;
}

/**
 * Listens to channels on a connection of its own, again and again when it is lost. While it does not listen, nobody knows
 * what was missed: `isLive` is false then. A connection that died silently is found by a heartbeat, which the client must
 * give a timeout.
 */
export function keepListening(newClient: () => ListeningClient, { begin, handlers }: Listener) {
  let isLive = false;
  const stop = Promise.withResolvers<void>();
  let isStopped = false;
  const pause = (ms: number) => Promise.race([wait(ms, null, { ref: false }), stop.promise]);
  const listen = async () => {
    const client = newClient();
    const lost = Promise.withResolvers<void>();
    client.on("error", lost.resolve);
    client.on("end", lost.resolve);
    client.on("notification", ({ channel, payload = "" }) => handlers[channel]?.(payload));
    try {
      await client.connect();
      client.unref?.(); // listening alone keeps no program from ending
      for (const channel of Object.keys(handlers)) await client.query(`listen ${channel}`);
      begin();
      isLive = true;
      while (!isStopped) {
        await Promise.race([pause(HEARTBEAT_MS), lost.promise]);
        if (!isStopped) await client.query("select 1");
      }
    } finally {
      isLive = false;
      client.ref?.();
      await client.end().catch(() => {}); // it may be lost already
    }
  };
  const listening = (async () => {
    while (!isStopped) {
      await listen().catch(() => {}); // whatever it was, it is tried again
      if (!isStopped) await pause(AGAIN_AFTER_MS);
    }
  })();
  return {
    isLive: () => isLive,
    // Not by ending the connection: one that is just being made would never say that it has ended.
    close: async () => {
      isStopped = true;
      stop.resolve();
      await listening;
    },
  };
}
