import { setTimeout as wait } from "node:timers/promises";

/** What other processes on the same database do, and what they are told of this one. */
export interface Others<Em = unknown> {
  /** A count that changes whenever another process may have committed something. */
  countWrites(): number;
  /** Has the others told of a unit of work of this process, in its transaction. */
  tell(unitOfWork: Em): Promise<void>;
  close(): Promise<void>;
}

/** The part of a connection to PostgreSQL that listening needs. */
export interface ListeningClient {
  connect(): Promise<unknown>;
  query(statement: string): Promise<unknown>;
  on(event: "notification", hear: (message: { channel: string; payload?: string }) => void): unknown;
  on(event: "error" | "end", lose: () => void): unknown;
  end(): Promise<void>;
}

const AGAIN_AFTER_MS = 500;
const HEARTBEAT_MS = 2_000;

/**
 * Listens to channels on a connection of its own, again and again when it is lost. While it does not listen, nobody knows
 * what was missed: `isLive` is false then. A connection that died without a word is found out by a heartbeat.
 */
export function keepListening(
  newClient: () => ListeningClient,
  hear: Record<string, (payload: string) => void>,
) {
  let isLive = false;
  let isClosed = false;
  let client: ListeningClient | undefined;
  const listen = async () => {
    client = newClient();
    const lost = new Promise<void>((resolve) => {
      client!.on("error", resolve);
      client!.on("end", resolve);
    });
    client.on("notification", ({ channel, payload = "" }) => hear[channel]?.(payload));
    try {
      await client.connect();
      for (const channel of Object.keys(hear)) await client.query(`listen ${channel}`);
      isLive = true;
      while (isLive && !isClosed) {
        await Promise.race([
          lost.then(() => Promise.reject(new Error("lost"))),
          wait(HEARTBEAT_MS, null, { ref: false }),
        ]);
        await client.query("select 1");
      }
    } finally {
      isLive = false;
      await client.end().catch(() => {}); // it is lost already
    }
  };
  const listening = (async () => {
    while (!isClosed) {
      await listen().catch(() => {}); // whatever it was, it is tried again
      if (!isClosed) await wait(AGAIN_AFTER_MS, null, { ref: false });
    }
  })();
  return {
    isLive: () => isLive,
    close: async () => {
      isClosed = true;
      await client?.end().catch(() => {});
      await listening;
    },
  };
}
