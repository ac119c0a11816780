import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Migrator } from "@mikro-orm/migrations";
import { SqlMikroORM } from "@mikro-orm/sql";
import { SqliteDriver } from "@mikro-orm/sqlite";
import { type Compilable, CompiledQuery } from "kysely";
import { Dataset, DatasetRow } from "../datasets/entities.ts";
import { Log, ModelPrice, Trace } from "../monitor/entities.ts";
import { Prompt, PromptTag, PromptTagMove, PromptVersion } from "../prompts/entities.ts";
import { AccessToken, AuditEntry, Workspace } from "../workspaces/entities.ts";
import { createAnnouncements } from "./announcements.ts";
import { type BulkConnection, createBulk, createStatements } from "./bulk.ts";
import { createCommit } from "./commit.ts";
import { createEncoder } from "./encode.ts";
import { createGeneration } from "./generation.ts";
import { sqliteMigrations } from "./migrations/sqlite/list.ts";
import { createSearch } from "./search.ts";

const entities = [
  Workspace,
  AccessToken,
  AuditEntry,
  Dataset,
  DatasetRow,
  Prompt,
  PromptVersion,
  PromptTag,
  PromptTagMove,
  Trace,
  Log,
  ModelPrice,
] as const;
const ownedByWorkspace = entities.filter((entity) => entity !== Workspace).map((entity) => entity.meta.name);

/** SQL is written with the names of the entities and their properties; values are converted as the entities say. */
const entityNames = {
  tableNamingStrategy: "entity",
  columnNamingStrategy: "property",
  convertValues: true,
} as const;

/** Where the database that `url` names is, when it has not been made yet; undefined when it is there. */
export function missingDatabase(url: string): string | undefined {
  const path = resolve(url.slice("sqlite:".length));
  return existsSync(path) ? undefined : path;
}

export type Database = Awaited<ReturnType<typeof openDatabase>>;
export type EntityManager = ReturnType<Database["fork"]>;

/**
 * Opens the database that `url` names (`sqlite:PATH`; file and folder are made when missing), not yet migrated.
 * Throws when it cannot be opened or does not hold to the durability it is asked for.
 */
export async function openDatabase(url: string) {
  const path = resolve(url.slice("sqlite:".length));
  const orm = await openSqlite(path);
  const search = createSearch(path);
  const encode = createEncoder(orm.getMetadata(), orm.em.getPlatform());
  const untouched = orm.em.getKysely({ type: "read" });
  const writer = orm.em.getKysely({ ...entityNames, convertValues: false });
  const commit = createCommit(writer, encode);
  const connection: BulkConnection = {
    handle: () => (orm.em.getConnection("write") as unknown as NativeClientOwner<never>).getNativeClient(),
    alone: (run) => writer.connection().execute(run),
  };
  const passing = new Set<Promise<unknown>>();
  const generation = createGeneration(await countWritesOfOthers(orm));
  orm.em.getEventManager().registerSubscriber(generation.subscriber);
  return {
    orm,
    generation,
    /** For reads that may run beside a write; sees all that was committed. */
    read: orm.em.getKysely({ ...entityNames, type: "read" }),
    /**
     * Runs a query on `read` and gives its rows as they come, not converted: columns must be given their names with
     * `as`. The ORM takes 20 microseconds to convert a row, ten times what SQLite takes to find it.
     */
    rows: async <Row>(query: Compilable<Row>): Promise<Row[]> =>
      (await untouched.executeQuery(query.compile())).rows,
    /** For single updates of what we make ourselves; rows that users send go through `commit`. */
    write: orm.em.getKysely({ ...entityNames, type: "write" }),
    commit,
    announcements: createAnnouncements(),
    search,
    /** A time as the database keeps it, for where nothing converts it. */
    stored: (moment: Date) => orm.em.getPlatform().processDateProperty(moment) as unknown as Date,
    /** For very many rows at once; `commit` is for those of one request. */
    putInBulk: createBulk(connection, encode, createStatements(orm.getMetadata(), orm.em.getPlatform())),
    /** A new unit of work whose entity reads are held to one workspace. */
    fork: (workspaceId: string | null) => {
      const em = orm.em.fork();
      if (workspaceId !== null) em.setFilterParams("workspace", { workspaceId });
      return em;
    },
    /** Copies all that is committed into a file, while others go on writing. */
    copyTo: async (file: string) => {
      const handle = await (
        orm.em.getConnection("read") as unknown as NativeClientOwner<{ backup(to: string): Promise<unknown> }>
      ).getNativeClient();
      await handle.backup(file);
    },
    /** Whether the database answers. */
    isReady: async () => (await orm.checkConnection()).ok,
    /** Has closing wait for what is done in passing; it must not reject. */
    track: (work: Promise<unknown>) => {
      passing.add(work);
      void work.finally(() => passing.delete(work));
    },
    close: async () => {
      await commit.settled();
      await Promise.all(passing);
      await search.close();
      await orm.close();
    },
  };
}

async function openSqlite(path: string) {
  await mkdir(dirname(path), { recursive: true });
  const orm = await SqlMikroORM.init({
    driver: SqliteDriver,
    entities: [...entities],
    extensions: [Migrator],
    dbName: path,
    // Reads have a connection of their own: a long one never holds up a write.
    replicas: [{ name: "reader", dbName: path, onCreateConnection: setPragmas(["query_only = on"]) }],
    onCreateConnection: setPragmas([]),
    // SQLite waits for another process by blocking this whole one, so it waits briefly here and commit.ts tries again.
    driverOptions: { timeout: 50 },
    filters: {
      workspace: {
        cond: ({ workspaceId }: { workspaceId?: string }) => ({ workspace: workspaceId }),
        entity: ownedByWorkspace,
        default: true,
      },
    },
    autoJoinRefsForFilters: false,
    forceUtcTimezone: true,
    // The full-text index, the triggers that keep it and the statistics are no entities.
    schemaGenerator: { skipTables: [/^(?:log_texts|sqlite_)/], ignoreTriggers: true },
    migrations: {
      migrationsList: sqliteMigrations,
      path: MIGRATIONS_FOLDER,
      pathTs: MIGRATIONS_FOLDER,
      snapshotName: "schema",
      snapshotOnMigrate: false,
      silent: true,
    },
  });
  try {
    await orm.connect();
    await orm.em.getConnection("read").connect();
  } catch (cause) {
    throw new Error(`Cannot open the database ${path}: ${(cause as Error).message}`, { cause });
  }
  return orm;
}

/** SQLite's own count, which the connection that writes here sees only others raise. */
async function countWritesOfOthers({ em }: Pick<SqlMikroORM, "em">): Promise<() => number> {
  const owner = em.getConnection("write") as unknown as NativeClientOwner<{
    prepare(statement: string): { pluck(): { get(): number } };
  }>;
  const statement = (await owner.getNativeClient()).prepare("pragma data_version").pluck();
  return () => statement.get();
}

const MIGRATIONS_FOLDER = fileURLToPath(new URL("./migrations/sqlite", import.meta.url));

interface SqliteConnection {
  executeQuery(query: CompiledQuery): Promise<{ rows: Record<string, unknown>[] }>;
}

interface NativeClientOwner<Client> {
  getNativeClient(): Promise<Client>;
}

const SYNCHRONOUS_FULL = 2;

/** WAL with FULL sync: with less, a power cut may undo what was committed last (https://sqlite.org/pragma.html#pragma_synchronous). */
function setPragmas(more: string[]) {
  return async (connection: unknown) => {
    const pragma = async (statement: string) => {
      const { rows } = await (connection as SqliteConnection).executeQuery(
        CompiledQuery.raw(`pragma ${statement}`),
      );
      return Object.values(rows[0] ?? {})[0];
    };
    for (const statement of ["journal_mode = wal", "synchronous = full", "temp_store = memory", ...more]) {
      await pragma(statement);
    }
    const journal = await pragma("journal_mode");
    const synchronous = await pragma("synchronous");
    if (journal !== "wal" || synchronous !== SYNCHRONOUS_FULL) {
      throw new Error(
        `it runs with journal_mode=${journal} and synchronous=${synchronous}, not with wal and full`,
      );
    }
  };
}
