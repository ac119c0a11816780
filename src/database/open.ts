import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { EntitySchema } from "@mikro-orm/core";
import { Migrator } from "@mikro-orm/migrations";
import type { SqlEntityManager } from "@mikro-orm/sql";
import { SqlMikroORM } from "@mikro-orm/sql";
import type { Compilable, Kysely, Transaction } from "kysely";
import { createFairQueue } from "../limits/fairQueue.ts";
import { createTurns } from "../limits/turns.ts";
import type { ConnectionOptions, Dialect } from "./dialect.ts";
import { createEncoder } from "./encode.ts";
import { createGeneration } from "./generation.ts";
import { createCommit, createInsert, insertOneByOne, insertTogether, type Rows } from "./groupCommit.ts";
import { createPubSub } from "./pubsub.ts";
import type { Search } from "./search.ts";
import { createBulk, createStatements } from "./statements.ts";

/** Extended by the list of entities, so that queries are typed and nothing here imports a feature. */
// biome-ignore lint/suspicious/noEmptyInterface: a module that is augmented must have the interface
export interface Registered {}

export type Entities = Registered extends { entities: infer List extends readonly EntitySchema[] }
  ? List
  : never;

/** SQL is written with the names of the entities and their properties; values are converted as the entities say. */
const entityNames = {
  tableNamingStrategy: "entity",
  columnNamingStrategy: "property",
  convertValues: true,
} as const;

/** Where the database that `url` names is, when it is a file that has not been made yet; undefined when it is there. */
export function missingDatabase(url: string): string | undefined {
  if (!url.startsWith("sqlite:")) return undefined;
  const path = resolve(url.slice("sqlite:".length));
  return existsSync(path) ? undefined : path;
}

type TablesOf<Builder> = Builder extends Kysely<infer Tables> ? Tables : never;

export type Database = Awaited<ReturnType<typeof openDatabase>>;
export type EntityManager = ReturnType<Database["fork"]>;

/** The silence is longer than any statement takes that is not meant to take long. */
const DEFAULTS: ConnectionOptions = { poolSize: 10, replicaUrls: [], silenceMs: 12_000 };

/**
 * Opens the database that `url` names, not yet migrated: `sqlite:PATH`, whose file and folder are made when missing, or
 * `postgresql://…`. Throws when it cannot be opened or does not hold to what it is asked for.
 */
export async function openDatabase(
  url: string,
  entities: Entities,
  options: Partial<ConnectionOptions> = {},
) {
  const dialect = await dialectOf(url, { ...DEFAULTS, ...options });
  const orm = await openOrm(dialect, entities);
  await connect(orm, dialect);
  const writers = createWriters(orm, dialect);
  const untouched = orm.em.getKysely({ type: "read" });
  const passing = new Set<Promise<unknown>>();
  const read = orm.em.getKysely({ ...entityNames, type: "read" });
  const search = dialect.createSearch(untouched as unknown as Kysely<never>);
  const pubSub = createPubSub();
  const changeFeed = await dialect.openChangeFeed(orm, pubSub.publish);
  const generation = createGeneration(changeFeed);
  orm.em.getEventManager().registerSubscriber(generation.subscriber);
  return {
    orm,
    dialect,
    generation,
    /** How logs are found by their words and their metadata. */
    search,
    /** For reads that may run beside a write; sees all that was committed. */
    read,
    /**
     * Runs a query on `read` and gives its rows as they come, not converted: columns must be given their names with
     * `as`. The ORM takes 20 microseconds to convert a row, ten times what SQLite takes to find it.
     */
    rows: async <Row>(query: Compilable<Row>): Promise<Row[]> =>
      (await untouched.executeQuery(query.compile())).rows,
    /** For single updates of what we make ourselves; rows that users send go through `commit`. */
    write: orm.em.getKysely({ ...entityNames, type: "write" }),
    ...writers,
    /** What `read` does, in the transaction of a unit of work. */
    readWithin: (em: SqlEntityManager) => em.getKysely(entityNames) as unknown as typeof read,
    pubSub,
    requestTransactions: createRequestTransactions(search),
    /** When a piece of long work may go on, by workspace. */
    turn: createTurns(),
    /** A new unit of work whose entity reads are held to one workspace. */
    fork: (workspaceId: string | null) => {
      const em = orm.em.fork();
      if (workspaceId !== null) em.setFilterParams("workspace", { workspaceId });
      return em;
    },
    /** Has closing wait for what is done in passing; it must not reject. */
    track: (work: Promise<unknown>) => {
      passing.add(work);
      void work.finally(() => passing.delete(work));
    },
    close: async () => {
      await writers.commit.settled();
      await Promise.all(passing);
      await search.close();
      await changeFeed.close();
      await orm.close();
    },
  };
}

/** The turns of requests whose writes are one transaction. On SQLite one of a workspace is open at a time, as others wait for it. */
function createRequestTransactions({ isServer }: Pick<Search, "isServer">) {
  return createFairQueue({
    ...(isServer ? { places: 8 } : { places: 2 }),
    ...{ maxWaiting: 500, maxWaitMs: 5_000 },
    busy: "Too many requests with an Idempotency-Key are under way; try again in a moment.",
  });
}

function createWriters(orm: Awaited<ReturnType<typeof openOrm>>, dialect: Dialect) {
  const encode = createEncoder(orm.getMetadata(), orm.em.getPlatform());
  const statements = createStatements(orm.getMetadata(), orm.em.getPlatform(), dialect.placeholder);
  // Rows are encoded before: see createEncoder.
  const writer = orm.em.getKysely({ ...entityNames, convertValues: false });
  type Tables = TablesOf<typeof writer>;
  const insert = createInsert<Tables>(encode, dialect.insertAlong);
  const insertAll = dialect.insertEach
    ? insertOneByOne<Tables>(encode, statements.insert, (inserts) => dialect.insertEach!(orm, inserts))
    : insertTogether(writer, insert);
  return {
    commit: createCommit<Tables>(insertAll),
    /** What `commit` does, in the transaction of a unit of work. */
    insertWithin: (em: SqlEntityManager, rows: Rows<Tables>) => {
      const within = em.getKysely({ ...entityNames, convertValues: false });
      return insert(within as unknown as Transaction<Tables>, rows);
    },
    /** For very many rows at once; `commit` is for those of one request. */
    putInBulk: createBulk(orm, dialect, encode, statements.put),
  };
}

/** Each database brings its driver along only when it is used. */
export async function dialectOf(url: string, settings = DEFAULTS): Promise<Dialect> {
  if (url.startsWith("sqlite:")) return (await import("./sqlite/dialect.ts")).sqlite(url);
  return (await import("./postgresql/dialect.ts")).postgresql(url, settings);
}

/** The ORM for a database, not connected yet. */
export const openOrm = (dialect: Dialect, entities: Entities) =>
  SqlMikroORM.init(ormOptions(dialect, entities));

/** The options of the ORM for a database. */
export function ormOptions({ options, migrations, folder }: Dialect, entities: Entities) {
  const path = fileURLToPath(new URL(`./migrations/${folder}`, import.meta.url));
  return {
    ...options,
    entities: [...entities],
    extensions: [Migrator],
    filters: {
      workspace: {
        cond: ({ workspaceId }: { workspaceId?: string }) => ({ workspace: workspaceId }),
        entity: entities.map(({ meta }) => meta.name!).filter((name) => name !== "Workspace"),
        default: true,
      },
    },
    autoJoinRefsForFilters: false,
    forceUtcTimezone: true,
    migrations: {
      migrationsList: migrations,
      path,
      pathTs: path,
      snapshotName: "schema",
      snapshotOnMigrate: false,
      silent: true,
    },
  };
}

async function connect(orm: Awaited<ReturnType<typeof openOrm>>, dialect: Dialect): Promise<void> {
  try {
    await dialect.prepare();
    await orm.connect();
    await dialect.connect(orm);
  } catch (cause) {
    await orm.close();
    throw new Error(`Cannot open the database ${dialect.place}: ${(cause as Error).message}`, { cause });
  }
}
