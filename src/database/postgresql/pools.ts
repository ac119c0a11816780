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
/**
 * One connection of so many stays free for workspaces that have one at most: a read asks for a connection several times, and
 * in between the group commit would take each that is freed.
 */
const SPARE_OF = 5;
const BUSY = "All connections to the database are in use; try again in a moment.";

/**
 * A pool of connections. A connection that is lost while in use is replaced at once, before its user releases it. Workspaces
 * take turns. In pools of five or more, a workspace gets at most three fifths of the connections: its statements may take seconds,
 * and most of what the group commit stores in connections of its own may be from the same workspace.
 */
export function createPool(config: pg.PoolConfig & { max: number }): CountedPool {
  const pool = new pg.Pool(config);
  const places = config.max;
  const share = places < 5 ? places : places - Math.ceil((places * 2) / 5);
  const spare = Math.floor(places / SPARE_OF);
  const limits = { places, share, spare, maxWaiting: Infinity, maxWaitMs: MAX_WAIT_MS };
  const queue = createFairQueue({ ...limits, busy: BUSY });
  // The query of a lost connection rejects by itself; without a listener the process would end.
  pool.on("connect", (client) => client.on("error", () => {}));
  pool.on("error", () => {});
  return {
    connect: async () => {
      const release = await queue.acquire(currentWorkspace() ?? "");
      try {
        return releaseWhenLost(await pool.connect(), release);
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

/** Releases a lost connection: the ORM releases it only after a successful COMMIT or ROLLBACK. */
function releaseWhenLost(client: pg.PoolClient, onRelease: () => void): pg.PoolClient {
  const release = client.release;
  const releaseOnce = (error?: Error | boolean) => {
    client.off("end", lose);
    client.release = () => {};
    release(error);
    onRelease();
  };
  const lose = () => releaseOnce(true);
  client.once("end", lose);
  client.release = releaseOnce;
  return client;
}

const PAUSES_MS = [0, 1, 3, 6, 10];
const EXCLUSION_MS = 500;

/**
 * Connections for reading: to a replica that has everything that the primary had committed when the connection was
 * requested, else to the primary. So reads see all acknowledged writes of all gateways. A replica that does not catch up
 * within 20 ms, or does not answer, is excluded for half a second; then a single reader tries it again.
 */
export function createReadingPool(primary: Pool, replicas: Pool[]): Pool {
  const excludedUntil = new Map(replicas.map((replica) => [replica, 0]));
  let turn = 0;
  const positions = new DataLoader<object, string>(
    async (requests) => {
      const statement = "select cast(pg_current_wal_flush_lsn() as text) as position";
      const { rows } = await runShared("positions", () =>
        queryOnce<{ position: string }>(primary, statement),
      );
      return requests.map(() => rows[0]!.position);
    },
    { cache: false },
  );
  const readers = new WeakMap<PostgresPoolClient, PostgresPoolClient>();
  /** One reader for each connection, because the ORM prepares each connection that is new to it. */
  const reader = (client: PostgresPoolClient) => {
    const connection = readers.get(client) ?? withFallback(client, primary);
    readers.set(client, connection);
    return connection;
  };
  const connectTo = async (replica: Pool, position: string) => {
    const until = excludedUntil.get(replica)!;
    if (until > performance.now()) return undefined;
    excludedUntil.set(replica, until && performance.now() + EXCLUSION_MS);
    const client = await connectAtPosition(replica, position).catch((error) => {
      if (!(error instanceof GabbroError)) return undefined;
      excludedUntil.set(replica, until); // the workspace waited for too long; the replica is not at fault
      throw error;
    });
    excludedUntil.set(replica, client ? 0 : performance.now() + EXCLUSION_MS);
    return client && reader(client);
  };
  return {
    connect: async () => {
      turn += 1;
      const isExcluded = (replica: Pool) => excludedUntil.get(replica)! > performance.now();
      if (replicas.every(isExcluded)) return primary.connect();
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
async function connectAtPosition(replica: Pool, position: string): Promise<PostgresPoolClient | undefined> {
  const client = await replica.connect();
  try {
    for (const pause of PAUSES_MS) {
      if (pause > 0) await wait(pause);
      // A promoted server is no replica any more, so it is not used.
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

const BEGIN = /^(?:begin|start transaction)\b/i;
const END = /^(?:commit|rollback)$/i;

/**
 * Repeats a read on the primary when the replica aborts it, because it is lost or continues with replication. A transaction goes on
 * there with the statements that it had, or a search would lose its time limit and its planning. It keeps its connection until it
 * ends: as one of the pool, others wrote there, and what was acknowledged to them was not committed.
 */
function withFallback(replica: PostgresPoolClient, primary: Pool): PostgresPoolClient {
  let instead: PostgresPoolClient | undefined;
  /** The statements of the transaction that is open on the replica. */
  let begun: [statement: string, values: readonly unknown[]][] = [];
  const endTransaction = () => {
    instead?.release();
    instead = undefined;
  };
  const onPrimary = async (statement: string, values: readonly unknown[]) => {
    if (BEGIN.test(statement)) instead = await primary.connect();
    if (!instead) return queryOnce(primary, statement, values);
    try {
      return await instead.query(statement, values);
    } finally {
      if (END.test(statement)) endTransaction();
    }
  };
  const moveTransaction = async () => {
    const statements = begun;
    begun = [];
    if (statements.length > 0) await replica.query("rollback", []).catch(() => {}); // its connection may be lost
    for (const statement of statements) await onPrimary(...statement);
  };
  const query = async (statement: string, values: readonly unknown[]) => {
    if (instead) return onPrimary(statement, values);
    const isEnd = END.test(statement);
    try {
      const result = await replica.query(statement, values);
      if (!isEnd && (begun.length > 0 || BEGIN.test(statement))) begun.push([statement, values]);
      return result;
    } catch (error) {
      if (!isWorthAnotherServer(error)) throw error;
      if (!isEnd) await moveTransaction();
      return onPrimary(statement, values);
    } finally {
      if (isEnd) begun = [];
    }
  };
  const release = () => {
    if (instead) void onPrimary("rollback", []).catch(() => {}); // or the next user of its connection would write in it
    begun = [];
    replica.release();
  };
  return { query: query as PostgresPoolClient["query"], release };
}

async function queryOnce<Row>(pool: Pool, statement: string, values: readonly unknown[] = []) {
  const client = await pool.connect();
  try {
    return await client.query<Row>(statement, values);
  } finally {
    client.release();
  }
}
