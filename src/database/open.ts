import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { EntitySchema } from "@mikro-orm/core";
import { Migrator } from "@mikro-orm/migrations";
import { SqlMikroORM } from "@mikro-orm/sql";
import type { Compilable, Kysely } from "kysely";
import { createFairQueue } from "../limits/fairQueue.ts";
import { createPause, createTurns, type Pause } from "../limits/turns.ts";
import { VERSIONED } from "./datasetVersions.ts";
import type { ConnectionOptions, Dialect } from "./dialect.ts";
import { createEncoder } from "./encode.ts";
import { createGeneration } from "./generation.ts";
import { createCommit } from "./groupCommit.ts";
import { createInsert, insertsOf, insertTogether } from "./insertRows.ts";
import type { Rows } from "./inserts.ts";
import { createPubSub } from "./pubsub.ts";
import { retryWhileLocked } from "./retry.ts";
import type { Search } from "./search.ts";
import { createBulk, createStatements } from "./statements.ts";
import { queueWrites } from "./writeQueue.ts";

/** Extended by the list of entities, so that queries are typed and nothing here imports a feature. */
// biome-ignore lint/suspicious/noEmptyInterface: a module that is augmented must have the interface
export interface Registered {}

export type Entities = Registered extends { entities: infer List extends readonly EntitySchema[] }
  ? List
  : never;

/** Queries use the names of entities and properties, and convert values to the types of the entities. */
const entityNames = {
  tableNamingStrategy: "entity",
  columnNamingStrategy: "property",
  convertValues: true,
} as const;

/** The path of the database at `url` if it is a file that does not exist; else undefined. */
export function missingDatabase(url: string): string | undefined {
  if (!url.startsWith("sqlite:")) return undefined;
  const path = resolve(url.slice("sqlite:".length));
  return existsSync(path) ? undefined : path;
}

type TablesOf<Builder> = Builder extends Kysely<infer Tables> ? Tables : never;

export type Database = Awaited<ReturnType<typeof openDatabase>>;
export type EntityManager = ReturnType<Database["fork"]>;

/** `silenceMs` exceeds the statement timeout, so that a healthy server is seldom probed. */
const DEFAULTS: ConnectionOptions = { poolSize: 10, replicaUrls: [], silenceMs: 12_000 };

/**
 * Opens the database at `url` without migrating it: `sqlite:PATH`, whose file and folder are made when missing, or
 * `postgresql://…`. Throws when it cannot be opened or does not accept the settings that Gabbro requires.
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
  const rawReader = orm.em.getKysely<never>({ type: "read" });
  const backgroundWork = new Set<Promise<unknown>>();
  const longWork = new AbortController();
  const read = orm.em.getKysely({ ...entityNames, type: "read" });
  const search = dialect.createSearch(rawReader);
  const pubSub = createPubSub();
  const changeFeed = await dialect.openChangeFeed(orm, pubSub);
  const generation = createGeneration(changeFeed);
  orm.em.getEventManager().registerSubscriber(generation.subscriber);
  queueWrites(orm, search);
  return {
    orm,
    dialect,
    generation,
    search,
    /** For reads, which may run beside a write; sees everything that was committed. */
    read,
    /**
     * Runs a query on `read` and returns its rows without conversion, so columns need their names by `as`. The ORM takes 20
     * microseconds to convert a row, ten times what SQLite takes to find it.
     */
    rows: async <Row>(query: Compilable<Row>): Promise<Row[]> =>
      (await rawReader.executeQuery(query.compile())).rows,
    /** For single updates of data that Gabbro generates; rows of users go through `commit`. */
    write: orm.em.getKysely({ ...entityNames, type: "write" }),
    ...writers,
    /** The same as `read`, in the transaction of a unit of work. */
    readWithin: (em: typeof orm.em): typeof read => em.getKysely(entityNames),
    /** The same as `rows`, in the transaction of a unit of work. */
    rowsWithin: async <Row>(em: typeof orm.em, query: Compilable<Row>): Promise<Row[]> =>
      (await em.getKysely().executeQuery(query.compile())).rows,
    pubSub,
    notifyOfPrompt: changeFeed.notifyOfPrompt,
    requestTransactions: createRequestTransactions(search),
    /** Resolves when a piece of long work of a workspace may continue. */
    turn: createTurns(),
    /** A new unit of work whose entity reads are limited to one workspace. */
    fork: (workspaceId: string | null) => {
      const em = orm.em.fork();
      if (workspaceId !== null) em.setFilterParams("workspace", { workspaceId });
      return em;
    },
    /** Makes `close` wait for background work, which must not reject. */
    track: (work: Promise<unknown>) => {
      backgroundWork.add(work);
      void work.finally(() => backgroundWork.delete(work));
    },
    /** Aborted when the service begins to stop, for work of requests that can take hours: it ends at its next step. */
    longWork,
    close: async () => {
      longWork.abort();
      await writers.commit.settled();
      await Promise.all(backgroundWork);
      await search.close();
      await changeFeed.close();
      await orm.close();
    },
  };
}

/** Turns of requests whose writes are one transaction. On SQLite others wait, so only one of a workspace is open at a time. */
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
  // Rows are already encoded: see createEncoder.
  const writer = orm.em.getKysely({ ...entityNames, convertValues: false });
  type Tables = TablesOf<typeof writer>;
  const insert = createInsert<Tables>(encode, dialect);
  const toInserts = insertsOf<Tables>(encode, statements.insert);
  const { insertEach, insertEachWithin } = dialect;
  type Em = typeof orm.em;
  const encodeAndInsert = async (rows: Rows<Tables>, insertAll: NonNullable<typeof insertEach>) => {
    const pause = createPause();
    const inserts = toInserts(rows);
    await pause(); // writing metadata of 10 MB as JSON takes 0.1 s
    return retryWhileLocked(() => insertAll(orm, inserts));
  };
  const insertShared = insertEach
    ? (rows: Rows<Tables>) => encodeAndInsert(rows, insertEach)
    : insertTogether(writer, insert, dialect.openSharedTransaction);
  const insertAlone = insertTogether(writer, insert, dialect.openTransaction);
  const insertInPieces = async (em: Em, pieces: Iterable<Rows<Tables>>, pause: Pause) => {
    if (insertEachWithin) return insertEachWithin(em, Iterator.from(pieces).map(toInserts), pause);
    for (const rows of pieces) {
      await pause();
      await insert(em.getKysely({ ...entityNames, convertValues: false }), rows);
    }
  };
  return {
    commit: createCommit<Tables>({
      insert: insertShared,
      insertAlone: (rows) => retryWhileLocked(() => insertAlone(rows)),
      ...(!insertEach && { takesLocks: (rows) => rows.some(([entity]) => entity === VERSIONED) }),
    }),
    /** The same as `commit`, in the transaction of a unit of work. */
    insertWithin: (em: Em, rows: Rows<Tables>) => insertInPieces(em, [rows], createPause()),
    /** The same for many rows; calls `pause` between parts of the work. */
    insertInPieces,
    /** For very many rows at once; `commit` is for the rows of one request. */
    putInBulk: createBulk(orm, dialect, encode, statements.put),
  };
}

/** The dialect of the database at `url`; loads only the driver of this dialect. */
export async function dialectOf(url: string, settings = DEFAULTS): Promise<Dialect> {
  if (url.startsWith("sqlite:")) return (await import("./sqlite/dialect.ts")).sqlite(url);
  return (await import("./postgresql/dialect.ts")).postgresql(url, settings);
}

/** The ORM of a database, not connected yet. */
export const openOrm = (dialect: Dialect, entities: Entities) =>
  SqlMikroORM.init(ormOptions(dialect, entities));

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
