import type { Constructor } from "@mikro-orm/core";
import type { Migration } from "@mikro-orm/migrations";
import type { SqlEntityManager, SqlMikroORM, SqlOptions } from "@mikro-orm/sql";
import type { Kysely } from "kysely";
import type { ChangeFeed } from "./changeFeed.ts";
import type { Copying } from "./copy/copier.ts";
import type { Insert, InsertAlong } from "./inserts.ts";
import type { LogAddedMessage } from "./pubsub.ts";
import type { Search } from "./search.ts";

export interface ConnectionOptions {
  /** How many connections one process holds at most, where the database is a server. */
  poolSize: number;
  /** Servers that follow that of the database, for reading. */
  replicaUrls: string[];
  /** How long a server may say nothing before it is asked whether it is still there. */
  silenceMs: number;
}

/** The connections that a process holds to a server. */
export interface Connections {
  server: string;
  inUse: number;
  idle: number;
  /** How many wait for one. */
  waiting: number;
}

type Orm = Pick<SqlMikroORM, "migrator"> & { em: SqlEntityManager };

/** All that differs between databases, apart from the codes of their errors; one object for each of them. */
export interface Dialect {
  /** Which database it is, as errors name it: without a password. */
  place: string;
  /** How the ORM speaks to it. */
  options: Pick<
    SqlOptions,
    | "driver"
    | "dbName"
    | "replicas"
    | "onCreateConnection"
    | "driverOptions"
    | "ensureDatabase"
    | "schemaGenerator"
    | "discovery"
  >;
  /** In which folder the migrations and the snapshot of the schema are. */
  folder: string;
  /** In their order. */
  migrations: { name: string; class: Constructor<Migration> }[];
  /** Makes the database before it is opened, where that is possible. */
  prepare(): Promise<void>;
  /** Whether every user of the machine may read it, where that is known. */
  isWorldReadable?(): boolean;
  /** Opens what opening the ORM leaves closed; throws when the database is not fit to be used. */
  connect(orm: Orm): Promise<void>;
  /** Runs `apply` while no other process migrates the database. */
  migrateAlone(orm: Orm, apply: (options: MigrateOptions) => Promise<string[]>): Promise<string[]>;
  createSearch(read: Kysely<never>): Search;
  /** Follows the commits of other processes; `publish` gets the logs that they stored. */
  openChangeFeed(
    orm: Orm,
    publish: (workspaceId: string, log: LogAddedMessage) => void,
  ): Promise<ChangeFeed<SqlEntityManager>>;
  /** What a transaction begins with in which a request waits for more than the database. */
  openTransaction: string[];
  /** How the nth value of a statement is written, from 1. */
  placeholder(n: number): string;
  /** How many rows at most are put by one statement. */
  rowsPerStatement: number;
  /** Runs statements in one transaction, and gives the ids that each returns. */
  runEach(orm: Orm, statements: { statement: string; values: unknown[] }[]): Promise<string[][]>;
  /** Inserts row by row in one transaction, where that is faster than many rows in a statement. */
  insertEach?(orm: Orm, inserts: Insert[]): Promise<void>;
  insertAlong: InsertAlong;
  connections(): Connections[];
  /** Copies all that is committed into a file, while others go on writing. */
  copyTo?(orm: Orm, file: string): Promise<void>;
  /** How all of it is copied from or to another database. */
  copying: Copying;
}

export type MigrateOptions = Exclude<Parameters<Orm["migrator"]["up"]>[0], string | string[] | undefined>;
