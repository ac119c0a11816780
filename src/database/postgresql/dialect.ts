import { randomUUID } from "node:crypto";
import { type Configuration, type EntityMetadata, ReferenceKind, TextType } from "@mikro-orm/core";
import { AbstractSqlDriver, PostgreSqlConnection, PostgreSqlPlatform } from "@mikro-orm/postgresql";
import { CompiledQuery, PostgresDialect, type PostgresPool } from "kysely";
import pg from "pg";
import { createResultTurns } from "../../limits/results.ts";
import { bindTexts } from "../bindTexts.ts";
import type { ConnectionOptions, Dialect } from "../dialect.ts";
import { guardedDialect } from "../guardedDialect.ts";
import { postgresqlMigrations } from "../migrations/postgresql/list.ts";
import { runStepsIn } from "../runSteps.ts";
import { databaseNameOf, describeUrl, hostsOf } from "../urls.ts";
import { notifyOfLogs, openPostgresqlChangeFeed, SHARED_LOCK_TIMEOUT } from "./changeFeed.ts";
import { primaryClient } from "./clients.ts";
import { postgresqlCopier } from "./copier.ts";
import { createPool, createReadingPool, type Pool } from "./pools.ts";
import { createPostgresqlSearch, insertWords, METADATA_OF_WORKSPACE } from "./search.ts";
import { summedIndexes } from "./sums.ts";
import { upgradeCopies } from "./upgradeCopies.ts";

// Otherwise times are sent in the time zone of this machine, whose offsets in early centuries have seconds that get lost.
pg.defaults.parseInputDatesAsUTC = true;

const STATEMENT_TIMEOUT_MS = 10_000;
const IDLE_IN_TRANSACTION_MS = 30_000;
const IDLE_CONNECTION_MS = 60_000;
const CONNECT_TIMEOUT_MS = 5_000;
const HEARTBEAT_TIMEOUT_MS = 2_000;
const REPLICA_CONNECT_TIMEOUT_MS = 1_000;
/** An arbitrary number that no other program uses for its lock in this database. */
const MIGRATION_LOCK = 7_206_651_830;

/** With the hash of a workspace: the lock of a removal. Two numbers are another kind of lock than one. */
const REMOVAL_LOCK = 720_665_183;

const placeholder = (n: number) => `$${n}`;

class Connection extends PostgreSqlConnection {
  override execute: PostgreSqlConnection["execute"] = (query, values = [], method, transaction, logging) => {
    if (!Array.isArray(values)) return super.execute(query, values, method, transaction, logging);
    const { parameters, client } = bindTexts(values, transaction ?? this.getClient(), placeholder);
    return super.execute(query, parameters, method, client, logging);
  };
}

/** MikroORM's driver for PostgreSQL, with long texts bound. */
class Driver extends AbstractSqlDriver<Connection> {
  constructor(config: Configuration) {
    super(config, new PostgreSqlPlatform(), Connection, ["kysely", "pg"]);
  }
}

/** The dialect of `postgresql://…`; the driver reads the connection options in the URL. */
export function postgresql(url: string, { poolSize, replicaUrls, silenceMs }: ConnectionOptions): Dialect {
  const self = randomUUID();
  const Client = primaryClient(url, silenceMs);
  const [oneOfHosts] = hostsOf(url);
  const connections = (to: string) => ({ ...connection(to), max: poolSize });
  const primary = createPool({ ...connections(oneOfHosts!), Client });
  const replicas = replicaUrls.map((replica) =>
    createPool({ ...connections(replica), connectionTimeoutMillis: REPLICA_CONNECT_TIMEOUT_MS }),
  );
  return {
    place: describeUrl(url),
    options: {
      driver: Driver,
      dbName: databaseNameOf(url),
      driverOptions: kyselyOver(primary),
      ...(replicas.length > 0 && {
        replicas: [{ name: "reader", driverOptions: kyselyOver(createReadingPool(primary, replicas)) }],
      }),
      ensureDatabase: false, // would reconnect over our own pool to make a missing database
      discovery: { onMetadata: adaptToPostgresql },
      schemaGenerator: { skipTables: ["log_texts"], ignoreRoutines: true, ignoreTriggers: true },
    },
    folder: "postgresql",
    migrations: postgresqlMigrations,
    prepare: async () => {},
    connect: async ({ em }) => {
      const [encoding] = await em.getConnection().execute("show server_encoding").catch(explainMissing(url));
      const name = encoding?.server_encoding;
      if (name !== "UTF8") throw new Error(`its encoding is ${name}, not UTF8`);
    },
    migrateAlone,
    upgradeCopies: upgradeCopies(migrateAlone),
    createSearch: (read) => createPostgresqlSearch(read, Math.max(2, Math.floor(poolSize / 2))),
    openChangeFeed: (_, pubSub) =>
      openPostgresqlChangeFeed(self, () => new Client(listening(oneOfHosts!)), pubSub),
    // A ROLLBACK is executed after the current statement, which may wait for the lock of another transaction.
    openTransaction: ["set local lock_timeout = '500ms'"],
    // Others must not wait for the lock that one of them waits for: a request with an Idempotency-Key may hold it for a second.
    openSharedTransaction: [`set local lock_timeout = '${SHARED_LOCK_TIMEOUT}'`],
    placeholder,
    rowsPerStatement: 500,
    runSteps,
    removeAlone,
    maxRemovedRows: 1_000,
    insertAlong: insertWords,
    tellOthers: (transaction, entity, rows) => notifyOfLogs(self, transaction, entity, rows),
    connections: () =>
      [primary, ...replicas].map((pool, n) => ({
        server: n === 0 ? "primary" : `replica ${n}`,
        ...pool.counts(),
      })),
    sizeOf: async ({ em }) => {
      const [row] = await em.getConnection().execute("select pg_database_size(current_database()) as bytes");
      return Number(row?.bytes);
    },
    copier: postgresqlCopier,
  };
}

const NO_SUCH_DATABASE = "3D000";

/** Explains in a connection error how to create a missing database. */
function explainMissing(url: string) {
  return (cause: Error & { code?: string }): never => {
    if (cause.code !== NO_SUCH_DATABASE) throw cause;
    const command = `createdb --encoding=UTF8 ${databaseNameOf(url)}`;
    throw new Error(`it does not exist. Create it, for example with: ${command}`, { cause });
  };
}

const connection = (url: string): pg.PoolConfig => ({
  connectionString: url,
  application_name: "gabbro",
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  idleTimeoutMillis: IDLE_CONNECTION_MS,
  statement_timeout: STATEMENT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  keepAlive: true,
  allowExitOnIdle: true, // a failed command exits at once
  types: parsers(),
});

const listening = (url: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: "gabbro",
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  query_timeout: HEARTBEAT_TIMEOUT_MS,
  keepAlive: true,
});

/** Uses our own pools, because the ORM's pool keeps a connection that is lost in a transaction for ever. */
const kyselyOver = (pool: Pool) => () => {
  const dialect = new PostgresDialect({ pool: pool as PostgresPool, onCreateConnection: setPlanning });
  return guardedDialect(dialect, { resultTurn: createResultTurns() });
};

const migrateAlone: Dialect["migrateAlone"] = ({ em }, apply) =>
  em.getConnection().transactional(async (transaction) => {
    const run = (statement: string) => em.getConnection().execute(statement, [], "all", transaction);
    await run("set local statement_timeout = 0");
    await run("set local idle_in_transaction_session_timeout = 0");
    await run(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    return apply({ transaction });
  });

/** The lock belongs to a connection, so the server frees it when this process ends. */
const removeAlone: Dialect["removeAlone"] = ({ em }, workspaceId, remove) =>
  em
    .getKysely()
    .connection()
    .execute(async (connection) => {
      const call = (name: string) =>
        connection.executeQuery<{ is: boolean }>(
          CompiledQuery.raw(`select ${name}(${REMOVAL_LOCK}, hashtext($1)) as is`, [workspaceId]),
        );
      const { rows } = await call("pg_try_advisory_lock");
      if (!rows[0]!.is) return null;
      try {
        return await remove();
      } finally {
        await call("pg_advisory_unlock").catch(() => {}); // a connection that was lost holds it no more
      }
    });

const runSteps: Dialect["runSteps"] = ({ em }, steps) =>
  em
    .getKysely()
    .transaction()
    .execute((transaction) => runStepsIn(transaction, steps));

const PLANNING = [
  // Lists are read along an index in their order, up to the limit of a page. With old statistics or a new workspace,
  // PostgreSQL would rather read all rows and sort them, again for every page.
  "set enable_bitmapscan = off",
  // Every statement reads a range of an index. PostgreSQL overestimates it, and starting parallel workers takes longer.
  "set max_parallel_workers_per_gather = 0",
  "set jit = off",
].join("; ");

async function setPlanning(connection: unknown): Promise<void> {
  const { executeQuery } = connection as { executeQuery(query: CompiledQuery): Promise<unknown> };
  await executeQuery.call(connection, CompiledQuery.raw(PLANNING));
}

/** Adapts the schema of the entities, which are the same for both databases. */
function adaptToPostgresql(meta: EntityMetadata): void {
  for (const property of Object.values(meta.properties)) {
    // Sorts by bytes, as SQLite does, whatever the collation of the database.
    if (isText(property)) property.collation = "C";
    // On SQLite the ORM adds an index for every foreign key, unless an entity disables it.
    if (property.kind === ReferenceKind.MANY_TO_ONE) property.index ??= true;
  }
  if (meta.name === "Log") changeLogs(meta);
}

const isText = ({ type }: { type: unknown }) => type === TextType;

function changeLogs(meta: EntityMetadata): void {
  meta.properties.searchId!.unique = false; // only used on SQLite
  // An entry of an index has at most 2,700 bytes, and slugs and ids of users may be longer.
  const narrow = (name: string, column: string) =>
    `create index "${name}" on "logs" ("workspace_id", left("${column}", 256), "start_time", "id")`;
  const replaced: Record<string, (typeof meta.indexes)[number]> = {
    logs_by_time: { properties: ["workspace", "startTime", "id"] },
    logs_by_prompt: { expression: narrow("logs_by_prompt", "prompt_slug") },
    logs_by_user: {
      expression: `${narrow("logs_by_user", "user_id")} where "user_id" is not null`,
    },
    logs_by_organization: {
      expression: `${narrow("logs_by_organization", "organization_id")} where "organization_id" is not null`,
    },
  };
  meta.indexes = meta.indexes.map((index) => {
    const change = replaced[index.name ?? ""];
    return change ? { name: index.name, ...change } : index;
  });
  meta.indexes.push(...summedIndexes);
  meta.indexes.push({
    name: "logs_by_metadata",
    expression: `create index "logs_by_metadata" on "logs" using gin (${METADATA_OF_WORKSPACE} jsonb_path_ops) where "metadata" is not null`,
  });
}

/** Parses counts and sums as numbers, also in queries that convert no values. */
function parsers(): pg.CustomTypesConfig {
  const { INT8, NUMERIC } = pg.types.builtins;
  const types = new pg.TypeOverrides();
  types.setTypeParser(INT8, Number);
  types.setTypeParser(NUMERIC, Number);
  return types;
}
