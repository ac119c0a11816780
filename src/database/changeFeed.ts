import { setTimeout as wait } from "node:timers/promises";
import type { PromptChangedMessage } from "./pubsub.ts";

/** Reports commits of other processes on the same database, and notifies those processes of commits of this one. */
export interface ChangeFeed<Em = unknown> {
  /** A count that changes whenever another process may have committed something. */
  countWrites(): number;
  /** The same count, which does not change while this process cannot hear of other processes. */
  countHeardWrites(): number;
  /** A count that changes with each commit of anybody, the group commit included; null where only the server knows. */
  countCommits(): number | null;
  /** Notifies other processes of a unit of work, in its transaction. */
  notify(unitOfWork: Em): Promise<void>;
  /** Notifies the subscribers at other processes of a change of a prompt, in its transaction. */
  notifyOfPrompt(unitOfWork: Em, workspaceId: string, message: PromptChangedMessage): Promise<void>;
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

const RECONNECT_DELAY_MS = 500;
const HEARTBEAT_MS = 1_000;

interface Listener {
  /** Called whenever listening begins again: cached values may be out of date. */
  begin: () => void;
  /** By channel. */
  handlers: Record<string, (payload: string) => void>;
}

/**
 * Listens to channels on a connection of its own, and reconnects when the connection is lost. While it does not listen,
 * `isLive` is false, because notifications may be missed. A heartbeat detects connections that died silently; the client
 * must have a query timeout for it.
 */
export function keepListening(newClient: () => ListeningClient, { begin, handlers }: Listener) {
  let isLive = false;
  const stop = Promise.withResolvers<void>();
  const firstAttempt = Promise.withResolvers<void>();
  let isStopped = false;
  const pause = (ms: number) => Promise.race([wait(ms, null, { ref: false }), stop.promise]);
  const listen = async () => {
    const client = newClient();
    const disconnection = Promise.withResolvers<void>();
    client.on("error", disconnection.resolve);
    client.on("end", disconnection.resolve);
    client.on("notification", ({ channel, payload = "" }) => handlers[channel]?.(payload));
    try {
      await client.connect();
      client.unref?.(); // listening alone must not keep the program running
      for (const channel of Object.keys(handlers)) await client.query(`listen ${channel}`);
      begin();
      isLive = true;
      firstAttempt.resolve();
      while (!isStopped) {
        await Promise.race([pause(HEARTBEAT_MS), disconnection.promise]);
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
      await listen().catch(() => {}); // any error leads to another attempt
      firstAttempt.resolve();
      if (!isStopped) await pause(RECONNECT_DELAY_MS);
    }
  })();
  return {
    isLive: () => isLive,
    /** Resolves once it listens, or the first attempt has failed. */
    attempted: firstAttempt.promise,
    // Does not end the client here: a client that is still connecting would never emit "end".
    close: async () => {
      isStopped = true;
      stop.resolve();
      await listening;
    },
  };
}
