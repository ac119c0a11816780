import type { Context } from "../context.ts";
import { createCache } from "../database/cache.ts";
import { isOrphan } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { pauseAfter } from "../limits/turns.ts";
import type { Warning } from "../warnings.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { valuesDecoder, valuesEncoder } from "./columns.ts";
import { Dataset, DatasetRow } from "./entities.ts";
import type { AddDatasetItemInput, DatasetRowInput } from "./inputs.ts";

/** The columns of a dataset that are read without its rows. */
export const headColumns = ["id", "slug", "name", "columns", "removedColumns", "createdAt"] as const;
export type DatasetHead = Pick<Dataset, (typeof headColumns)[number]>;
export type Row = Pick<
  DatasetRow,
  "id" | "name" | "key" | "logId" | "values" | "idealOutput" | "metadata" | "createdAt"
>;

/** The dataset with that slug, without its rows; DATASET_NOT_FOUND when the workspace has none. */
export async function dataset(context: Context, input: { slug: string }): Promise<DatasetHead> {
  const workspaceId = authorize(context, "read");
  return getDataset(context, workspaceId, input.slug);
}

/** The dataset with that slug, once the caller is authorized. */
export async function getDataset(
  { database }: Context,
  workspaceId: string,
  slug: string,
): Promise<DatasetHead> {
  const head = await datasetCache(database, { workspaceId, key: slug }, () =>
    readDataset(database, workspaceId, slug),
  );
  if (!head) throw datasetNotFound(slug);
  return head;
}

const datasetCache = createCache<DatasetHead>();

export async function readDataset(
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

/**
 * Adds a row, or changes the one that has its key; values of columns that the dataset does not have are left out, and
 * the warning names those columns.
 */
export async function addDatasetItem(
  context: Context,
  { slug, input }: AddDatasetItemInput,
): Promise<StoredItem> {
  const workspace = authorize(context, "write");
  const parent = await getDataset(context, workspace, slug);
  if (input.key !== null) {
    const [added] = await refuseOrphans(slug, () =>
      inTransaction(context.em, (em) => putRows(em, workspace, parent, [input])),
    );
    return added!;
  }
  const { values, omitted } = valuesEncoder(parent)(input.values);
  const datasetRow: Row = { ...input, id: newId(), logId: null, values, createdAt: new Date() };
  await refuseOrphans(slug, () =>
    context.database.commit([["DatasetRow", { ...datasetRow, workspace, dataset: parent.id }]]),
  );
  return { datasetRow: rowDecoder(parent)(datasetRow), warnings: omittedColumns(omitted) };
}

/** MikroORM takes quadratic time for the rows of one flush; other requests run between flushes. */
const MAX_ROWS_IN_FLUSH = 100;

type RowToPut = DatasetRowInput & { logId?: string };

/** Adds rows, or changes those that have their keys, in the transaction of `em`; the last of equal keys wins. */
export async function putRows(em: EntityManager, workspace: string, parent: DatasetHead, inputs: RowToPut[]) {
  if ((await em.count(Dataset, { id: parent.id })) === 0) throw datasetNotFound(parent.slug);
  const results: StoredItem[] = [];
  let sinceMs = 0;
  for (let from = 0; from < inputs.length; from += MAX_ROWS_IN_FLUSH) {
    if (from > 0) await pauseAfter(sinceMs);
    sinceMs = performance.now();
    results.push(...(await putSome(em, workspace, parent, inputs.slice(from, from + MAX_ROWS_IN_FLUSH))));
    await em.flush();
  }
  return results;
}

async function putSome(em: EntityManager, workspace: string, parent: DatasetHead, inputs: RowToPut[]) {
  const keys = inputs.flatMap(({ key }) => key ?? []);
  const where = { dataset: parent.id, key: { $in: keys } };
  // The texts are replaced, so they are not read: 100 rows may hold 2 GB.
  const fields = ["id", "key", "logId", "createdAt"] as const;
  const existing = keys.length === 0 ? [] : await em.find(DatasetRow, where, { fields });
  const byKey = new Map<string | null, Pick<Row, (typeof fields)[number]>>(
    existing.map((row) => [row.key, row]),
  );
  const [encode, decode] = [valuesEncoder(parent), rowDecoder(parent)];
  return inputs.map(({ values: named, ...input }) => {
    const { values, omitted } = encode(named);
    const current = input.key === null ? undefined : byKey.get(input.key);
    const row = current
      ? Object.assign(current, { ...input, values })
      : em.create(DatasetRow, {
          ...input,
          id: newId(),
          workspace,
          dataset: parent.id,
          logId: input.logId ?? null,
          values,
          createdAt: new Date(),
        });
    if (row.key !== null) byKey.set(row.key, row);
    return { datasetRow: decode(row), warnings: omittedColumns(omitted) };
  });
}

/** What one body may hold, counting 32 more characters for each value. */
const MAX_ROW_CHARACTERS = 20_000_000;

/**
 * Throws BAD_INPUT when the values of a row are too large. Call it where they come from several requests: a single one is
 * bounded by its body.
 */
export function refuseLargeRow(values: Record<string, unknown>): void {
  if (jsonSize(values, MAX_ROW_CHARACTERS) <= MAX_ROW_CHARACTERS) return;
  throw badInput([
    {
      path: "values",
      message: "would make the row larger than 20,000,000 characters, where each value counts 32 more",
    },
  ]);
}

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
