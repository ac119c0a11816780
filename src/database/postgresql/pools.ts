import { setTimeout as wait } from "node:timers/promises";
import DataLoader from "dataloader";
import type { PostgresPool, PostgresPoolClient } from "kysely";
import pg from "pg";
import { GabbroError } from "../../errors.ts";
import { currentWorkspace, runShared } from "../../limits/eventLoop.ts";
import { createFairQueue } from "../../limits/fairQueue.ts";
import { isWorthAnotherServer } from "../driverErrors.ts";

export type Pool = Pick<PostgresPool, "connect" | "end">;

interface CountedPool extends Pool {
  counts(): { inUse: number; idle: number; waiting: number };
}

const MAX_WAIT_MS = 5_000;
const BUSY = "All connections to the database are in use; try again in a moment.";

/**
 * A pool of connections. A connection that is lost while in use is replaced at once, before it is released. Workspaces take
 * turns. With five connections or more, each workspace leaves a fifth of them to the others, as statements may take seconds.
 */
export function createPool(config: pg.PoolConfig & { max: number }): CountedPool {
  const pool = new pg.Pool(config);
  const places = config.max;
  const share = places < 5 ? places : places - Math.ceil(places / 5);
  const queue = createFairQueue({ places, share, maxWaiting: Infinity, maxWaitMs: MAX_WAIT_MS, busy: BUSY });
  // What is under way on a lost connection rejects by itself; without a listener the process would end.
  pool.on("connect", (client) => client.on("error", () => {}));
  pool.on("error", () => {});
  return {
    connect: async () => {
      const release = await queue.acquire(currentWorkspace() ?? "");
      try {
        return givenBackWhenLost(await pool.connect(), release) as unknown as PostgresPoolClient;
      } catch (error) {
        release();
        throw error;
      }
    },
    end: () => pool.end(),
    counts: () => {
      const { totalCount, idleCount: idle, waitingCount } = pool;
      return { inUse: totalCount - idle, idle, waiting: waitingCount + queue.waiting() };
    },
  };
}

/** The ORM gives a connection back only after a COMMIT or a ROLLBACK that worked: none does on a lost one. */
function givenBackWhenLost(client: pg.PoolClient, givenBack: () => void): pg.PoolClient {
  const release = client.release;
  const giveBack = (error?: Error | boolean) => {
    client.off("end", lose);
    client.release = () => {};
    release(error);
    givenBack();
  };
  const lose = () => giveBack(true);
  client.once("end", lose);
  client.release = giveBack;
  return client;
}

const PAUSES_MS = [0, 1, 3, 6, 10];
const LEFT_OUT_MS = 500;

/**
 * Connections for reading: to a replica that has all that the primary had committed when the connection was asked for,
 * else to the primary. So nobody misses what was acknowledged before, by whichever gateway. A replica that does not
 * follow within 20 ms, or does not answer, is left out for half a second, and then tried again by one reader.
 */
export function createReadingPool(primary: Pool, replicas: Pool[]): Pool {
  const leftOutUntil = new Map(replicas.map((replica) => [replica, 0]));
  let turn = 0;
  const positions = new DataLoader<object, string>(
    async (askers) => {
      const statement = "select cast(pg_current_wal_flush_lsn() as text) as position";
      const { rows } = await runShared("positions", () =>
        queryOnce<{ position: string }>(primary, statement),
      );
      return askers.map(() => rows[0]!.position);
    },
    { cache: false },
  );
  const readers = new WeakMap<PostgresPoolClient, PostgresPoolClient>();
  /** The same for each connection, as the ORM prepares what it does not know. */
  const reader = (client: PostgresPoolClient) => {
    const known = readers.get(client) ?? readingOn(client, primary);
    readers.set(client, known);
    return known;
  };
  const connectTo = async (replica: Pool, position: string) => {
    const until = leftOutUntil.get(replica)!;
    if (until > performance.now()) return undefined;
    leftOutUntil.set(replica, until && performance.now() + LEFT_OUT_MS);
    const client = await connectWhenFollowed(replica, position).catch((error) => {
      if (!(error instanceof GabbroError)) return undefined;
      leftOutUntil.set(replica, until); // it is the workspace that waited for too long
      throw error;
    });
    leftOutUntil.set(replica, client ? 0 : performance.now() + LEFT_OUT_MS);
    return client && reader(client);
  };
  return {
    connect: async () => {
      turn += 1;
      const isLeftOut = (replica: Pool) => leftOutUntil.get(replica)! > performance.now();
      if (replicas.every(isLeftOut)) return primary.connect();
      const position = await positions.load({});
      for (let n = 0; n < replicas.length; n++) {
        const client = await connectTo(replicas[(turn + n) % replicas.length]!, position);
        if (client) return client;
      }
      return primary.connect();
    },
    end: async () => void (await Promise.all(replicas.map((replica) => replica.end()))),
  };
}

/** A connection to a replica that has reached a position of the primary; undefined when it does not in time. */
async function connectWhenFollowed(replica: Pool, position: string): Promise<PostgresPoolClient | undefined> {
  const client = await replica.connect();
  try {
    for (const pause of PAUSES_MS) {
      if (pause > 0) await wait(pause);
      // One that was promoted is a replica no more, and nobody knows of what.
      const statement =
        "select pg_is_in_recovery() and pg_last_wal_replay_lsn() >= cast($1 as pg_lsn) as answer";
      const { rows } = await client.query<{ answer: boolean }>(statement, [position]);
      if (rows[0]?.answer) return client;
    }
  } catch (error) {
    client.release();
    throw error;
  }
  client.release();
  return undefined;
}

/** Reads that a replica breaks off, as it is lost or must go on with what it follows, go to the primary. */
function readingOn(replica: PostgresPoolClient, primary: Pool): PostgresPoolClient {
  const query = async (statement: string, values: readonly unknown[]) => {
    try {
      return await replica.query(statement, values);
    } catch (error) {
      if (!isWorthAnotherServer(error)) throw error;
      return queryOnce(primary, statement, values);
    }
  };
  return { query: query as PostgresPoolClient["query"], release: () => replica.release() };
}

async function queryOnce<Row>(pool: Pool, statement: string, values: readonly unknown[] = []) {
  const client = await pool.connect();
  try {
    return await client.query<Row>(statement, values);
  } finally {
    client.release();
  }
}
