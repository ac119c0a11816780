import type { Constructor } from "@mikro-orm/core";
import type { Migration } from "@mikro-orm/migrations";
import type { SqlEntityManager, SqlMikroORM, SqlOptions } from "@mikro-orm/sql";
import type { Kysely } from "kysely";
import type { Pause } from "../limits/turns.ts";
import type { ChangeFeed } from "./changeFeed.ts";
import type { Copier } from "./copy/copier.ts";
import type { Insert, InsertAlong } from "./inserts.ts";
import type { PubSub } from "./pubsub.ts";
import type { Search } from "./search.ts";

export interface ConnectionOptions {
  /** How many connections one process holds at most, where the database is a server. */
  poolSize: number;
  /** Replicas of the database server, for reading. */
  replicaUrls: string[];
  /** How long a server may send nothing before a probe checks whether it still responds. */
  silenceMs: number;
}

/** The connections that a process holds to a server. */
export interface Connections {
  server: string;
  inUse: number;
  idle: number;
  /** How many requests wait for a connection. */
  waiting: number;
}

/** Statements one after another, each of which may depend on the rows that those before it returned. */
export type Steps<Result> = Generator<
  { statement: string; values: unknown[] },
  Result,
  Record<string, unknown>[]
>;

type Orm = Pick<SqlMikroORM, "migrator"> & { em: SqlEntityManager };

/** Everything that differs between databases, except the codes of their errors. */
export interface Dialect {
  /** The name of the database in error messages, without a password. */
  place: string;
  /** The options of the ORM. */
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
  /** The folder of the migrations and of the schema snapshot. */
  folder: string;
  /** In their order. */
  migrations: { name: string; class: Constructor<Migration> }[];
  /** Makes a missing database before it is opened, where that is possible. */
  prepare(): Promise<void>;
  /** Whether every user of the machine may read the database; absent where that is unknown. */
  isWorldReadable?(): boolean;
  /** Opens the connections that the ORM does not open by itself; throws when the database cannot be used. */
  connect(orm: Orm): Promise<void>;
  /** Runs `apply` while no other process migrates the database. */
  migrateAlone(orm: Orm, apply: (options: MigrateOptions) => Promise<string[]>): Promise<string[]>;
  /** Copies inside the database as it was before a migration, where it is a server. */
  upgradeCopies?: {
    /** Copies all tables at one point in time, and removes all but the newest two copies; returns the name of the copy. */
    make(orm: Orm, migration: string): Promise<string>;
    /** Fills an empty database with a copy, as it was. */
    restore(orm: Orm, copy: string): Promise<void>;
  };
  createSearch(read: Kysely<never>): Search;
  /** Follows the commits of other processes, and publishes what they stored. */
  openChangeFeed(orm: Orm, pubSub: PubSub): Promise<ChangeFeed<SqlEntityManager>>;
  /** The first statements of a transaction in which a request also waits for other things than the database. */
  openTransaction: string[];
  /** The first statements of a transaction that stores the rows of several requests. */
  openSharedTransaction: string[];
  /** The placeholder of the nth value of a statement, from 1. */
  placeholder(n: number): string;
  /** How many rows one statement puts at most. */
  rowsPerStatement: number;
  /** Runs in one transaction the statements that a generator yields, which gets the rows of each. */
  runSteps<Result>(orm: Orm, steps: () => Steps<Result>): Promise<Result>;
  /** Runs a removal of many logs of a workspace while no other process runs one; returns null when another does. */
  removeAlone<Result>(orm: Orm, workspaceId: string, remove: () => Promise<Result>): Promise<Result | null>;
  /** How many traces and logs a step of such a removal deletes at most. */
  maxRemovedRows: number;
  /** After such a step, until it returns false: the index of words has to be merged in pieces before more is removed. */
  mergeWords?(): Steps<boolean>;
  /** Inserts row by row in one transaction, where that is faster than many rows in a statement. */
  insertEach?(orm: Orm, inserts: Insert[]): Promise<void>;
  /** The same in the open transaction of a unit of work. Calls `pause` between parts of the work. */
  insertEachWithin?(em: SqlEntityManager, pieces: Iterable<Insert[]>, pause: Pause): Promise<void>;
  insertAlong: InsertAlong;
  /** Notifies other processes of new rows, after all inserts of a transaction. */
  tellOthers: InsertAlong;
  connections(): Connections[];
  /** The bytes that the database takes. */
  sizeOf(orm: Orm): Promise<number>;
  /** Copies all committed data into a file, while other requests write. */
  copyTo?(orm: Orm, file: string): Promise<void>;
  copier: Copier;
}

export type MigrateOptions = Exclude<Parameters<Orm["migrator"]["up"]>[0], string | string[] | undefined>;
