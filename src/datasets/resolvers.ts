import { LockMode } from "@mikro-orm/core";
import type { Context } from "../context.ts";
import { createCache } from "../database/cache.ts";
import { isOrphan } from "../database/driverErrors.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { GabbroError, quoted } from "../errors.ts";
import { jsonBytesOf } from "../limits/jsonBytes.ts";
import { jsonSize, SLOW_FRACTION } from "../limits/jsonSize.ts";
import type { Warning } from "../warnings.ts";
import { valuesDecoder } from "./columns.ts";
import { Dataset, type DatasetRow } from "./entities.ts";
import { MAX_ROW_MEMBERS, membersOfRow } from "./inputs.ts";

/** The columns of a dataset that are read without its rows. */
export const headColumns = [
  "id",
  "slug",
  "name",
  "columns",
  "removedColumns",
  "columnsVersion",
  "createdAt",
] as const;
export type DatasetHead = Pick<Dataset, (typeof headColumns)[number]> & {
  /** The version whose rows are read; absent where any serves, which is the newest at that time. */
  version?: number;
  /** Whether the version was asked for, so that the dataset and its rows never change. */
  isPinned?: boolean;
  /** Whether a newer version was there already. */
  isOld?: boolean;
};
export type Row = Pick<
  DatasetRow,
  "id" | "name" | "key" | "logId" | "values" | "idealOutput" | "metadata" | "createdAt"
> & {
  /** The version of the dataset that the row was asked for in; absent for the newest. */
  asOf?: number;
};

/** The dataset with that slug, once the caller is authorized. */
export async function getDataset(
  { database }: Context,
  workspaceId: string,
  slug: string,
): Promise<DatasetHead> {
  const head = await datasetCache(database, { workspaceId, key: slug }, () =>
    findDataset(database, workspaceId, slug),
  );
  if (!head) throw datasetNotFound(slug);
  return head;
}

const datasetCache = createCache<DatasetHead>();

/** Takes over columns that were read beside the cache: who has seen them may add values for them at once. */
export function renewColumns({ database }: Context, workspaceId: string, head: DatasetHead): void {
  datasetCache.replace(
    database,
    { workspaceId, key: head.slug },
    head,
    ({ id, columnsVersion }) => id === head.id && columnsVersion < head.columnsVersion,
  );
}

async function findDataset(
  { read }: Database,
  workspaceId: string,
  slug: string,
): Promise<DatasetHead | null> {
  const head = await read
    .selectFrom("Dataset")
    .select(headColumns)
    .where("workspace", "=", workspaceId)
    .where("slug", "=", slug)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  return head ?? null;
}

/** The same, read again: its columns may have been changed since. */
export async function readDataset(
  database: Database,
  workspaceId: string,
  slug: string,
): Promise<DatasetHead> {
  const head = await findDataset(database, workspaceId, slug);
  if (!head) throw datasetNotFound(slug);
  return head;
}

export function datasetNotFound(slug: string): GabbroError {
  return new GabbroError("DATASET_NOT_FOUND", `Dataset ${quoted(slug)} does not exist.`);
}

/** Reports rows without a dataset as DATASET_NOT_FOUND: it was deleted after the look-up. */
export async function refuseOrphans<T>(slug: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isOrphan(error) ? datasetNotFound(slug) : error;
  }
}

/** A row after it was stored. */
export interface StoredItem {
  datasetRow: Row;
  warnings: Warning[];
}

/** The dataset with that id; until the transaction ends no other one changes it or its rows. Read those afterwards. */
export const findLocked = (em: EntityManager, id: string): Promise<Dataset | null> =>
  em.findOne(Dataset, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });

/** Makes the next version of a locked dataset and returns it. */
export async function nextVersion(em: EntityManager, locked: Dataset): Promise<number> {
  locked.version += 1;
  await em.flush(); // the triggers that keep what rows were read it
  return locked.version;
}

/** Reading, changing and storing a row takes 20 ms a megabyte, and SQLite lets nobody else write meanwhile. */
const MAX_ROW_BYTES = 10_000_000;

type RowParts = Pick<Row, "name" | "values" | "idealOutput" | "metadata">;

/**
 * Throws BAD_INPUT when a row is too large, or has too many members, unless it was no smaller `before`; else returns its size in
 * bytes. Call it where a row comes from several requests or from a file: the body of a single request bounds its rows.
 */
export function refuseLargeRow(row: RowParts, before?: RowParts): number {
  // Counted no further: a thousand columns may have the same part of a log, which took 44 s.
  const hasMoreThan = (members: number) => membersOfRow(row, members) > members;
  const isNoLarger = () => before && !hasMoreThan(membersOfRow(before, Number.POSITIVE_INFINITY));
  if (hasMoreThan(MAX_ROW_MEMBERS) && !isNoLarger())
    throw new GabbroError(
      "BAD_INPUT",
      `The row would have more than ${MAX_ROW_MEMBERS.toLocaleString("en")} members of objects. Keep less in it, or add another row.`,
    );
  const bytes = sizeOf(row, MAX_ROW_BYTES);
  if (bytes <= MAX_ROW_BYTES || (before && sizeOf(row) <= sizeOf(before))) return bytes;
  throw new GabbroError(
    "BAD_INPUT",
    "The row would be larger than 10,000,000 bytes as JSON, where each value counts 32 more, and a number with a fraction 432. Keep less in it, or add another row.",
  );
}

const sizeOf = ({ name, values, idealOutput, metadata }: RowParts, max = Number.POSITIVE_INFINITY): number =>
  jsonSize({ name, values, idealOutput, metadata }, max, { lengthOf: jsonBytesOf, fraction: SLOW_FRACTION });

/** Converts stored rows of a dataset to rows with their values by column name. */
export function rowDecoder(parent: DatasetHead): (row: Row) => Row {
  const decode = valuesDecoder(parent);
  return ({ id, name, key, logId, values, idealOutput, metadata, createdAt }) => {
    return { id, name, key, logId, values: decode(values).values, idealOutput, metadata, createdAt };
  };
}

/** The warnings for values that were left out of a row, as the dataset lacks their columns. */
export function omittedColumns(names: string[]): Warning[] {
  if (names.length === 0) return [];
  const message = `The following columns do not exist in the dataset and were omitted: ${joinNames(names)}`;
  return [{ code: "COLUMN_NOT_FOUND", message, path: "values" }];
}

const MAX_NAMES = 50;

/** Joins names for a sentence, no more than one can read. */
export function joinNames(names: string[]): string {
  const some = names.slice(0, MAX_NAMES).join(", ");
  return names.length > MAX_NAMES ? `${some} and ${names.length - MAX_NAMES} more` : some;
}
