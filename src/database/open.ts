import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Migrator } from "@mikro-orm/migrations";
import { SqlMikroORM } from "@mikro-orm/sql";
import type { Compilable, Kysely } from "kysely";
import { Dataset, DatasetRow } from "../datasets/entities.ts";
import { Log, ModelPrice, Trace } from "../monitor/entities.ts";
import { Prompt, PromptTag, PromptTagMove, PromptVersion } from "../prompts/entities.ts";
import { AccessToken, AuditEntry, Workspace } from "../workspaces/entities.ts";
import { createAnnouncements } from "./announcements.ts";
import { createBulk, createStatements } from "./bulk.ts";
import { createCommit, insertOneByOne, insertTogether } from "./commit.ts";
import type { Dialect, Settings } from "./dialect.ts";
import { createEncoder } from "./encode.ts";
import { createGeneration } from "./generation.ts";

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

/** Where the database that `url` names is, when it is a file that has not been made yet; undefined when it is there. */
export function missingDatabase(url: string): string | undefined {
  if (!url.startsWith("sqlite:")) return undefined;
  const path = resolve(url.slice("sqlite:".length));
  return existsSync(path) ? undefined : path;
}

type TablesOf<Builder> = Builder extends Kysely<infer Tables> ? Tables : never;

export type Database = Awaited<ReturnType<typeof openDatabase>>;
export type EntityManager = ReturnType<Database["fork"]>;

const DEFAULTS: Settings = { poolSize: 10, replicaUrls: [] };

/**
 * Opens the database that `url` names, not yet migrated: `sqlite:PATH`, whose file and folder are made when missing, or
 * `postgresql://…`. Throws when it cannot be opened or does not hold to what it is asked for.
 */
export async function openDatabase(url: string, settings: Partial<Settings> = {}) {
  const dialect = await dialectOf(url, { ...DEFAULTS, ...settings });
  const orm = await openOrm(dialect);
  await connect(orm, dialect);
  const encode = createEncoder(orm.getMetadata(), orm.em.getPlatform());
  const writer = orm.em.getKysely({ ...entityNames, convertValues: false });
  const statements = createStatements(orm.getMetadata(), orm.em.getPlatform(), dialect.placeholder);
  const commit = createCommit<TablesOf<typeof writer>>(
    dialect.insertEach
      ? insertOneByOne(encode, statements.insert, (inserts) => dialect.insertEach!(orm, inserts))
      : insertTogether(writer, encode, dialect.insertAlong),
  );
  const untouched = orm.em.getKysely({ type: "read" });
  const passing = new Set<Promise<unknown>>();
  const read = orm.em.getKysely({ ...entityNames, type: "read" });
  const search = dialect.createSearch(untouched as unknown as Kysely<never>);
  const announcements = createAnnouncements();
  const others = await dialect.hearOthers(orm, announcements.announce);
  const generation = createGeneration(others);
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
    commit,
    announcements,
    /** A time as the database keeps it, for where nothing converts it. */
    stored: (moment: Date) => orm.em.getPlatform().processDateProperty(moment) as unknown as Date,
    /** For very many rows at once; `commit` is for those of one request. */
    putInBulk: createBulk((statement, rows) => dialect.runEach(orm, statement, rows), encode, statements.put),
    /** A new unit of work whose entity reads are held to one workspace. */
    fork: (workspaceId: string | null) => {
      const em = orm.em.fork();
      if (workspaceId !== null) em.setFilterParams("workspace", { workspaceId });
      return em;
    },
    /** Copies all that is committed into a file, while others go on writing; absent where the database is no file. */
    copyTo: dialect.copyTo && ((file: string) => dialect.copyTo!(orm, file)),
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
      await others.close();
      await orm.close();
    },
  };
}

/** Each database brings its driver along only when it is used. */
export async function dialectOf(url: string, settings = DEFAULTS): Promise<Dialect> {
  if (url.startsWith("sqlite:")) return (await import("./sqlite.ts")).sqlite(url);
  return (await import("./postgresql.ts")).postgresql(url, settings);
}

/** The ORM for a database, not connected yet. */
export function openOrm({ options, migrations, folder }: Dialect) {
  const path = fileURLToPath(new URL(`./migrations/${folder}`, import.meta.url));
  return SqlMikroORM.init({
    ...options,
    entities: [...entities],
    extensions: [Migrator],
    filters: {
      workspace: {
        cond: ({ workspaceId }: { workspaceId?: string }) => ({ workspace: workspaceId }),
        entity: ownedByWorkspace,
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
  });
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
