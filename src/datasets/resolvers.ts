import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../context.ts";
import { createCache } from "../database/cache.ts";
import { isOrphan } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { showing, storing } from "./columns.ts";
import { Dataset, DatasetRow } from "./entities.ts";
import type { AddDatasetItemInput, DatasetRowInput } from "./inputs.ts";

/** What is read of a dataset itself. */
export const head = ["id", "slug", "name", "columns", "removedColumns", "createdAt"] as const;
export type DatasetHead = Pick<Dataset, (typeof head)[number]>;
export type Row = Pick<
  DatasetRow,
  "id" | "name" | "key" | "logId" | "values" | "idealOutput" | "metadata" | "createdAt"
>;

/** The dataset with that slug, without its rows; DATASET_NOT_FOUND when the workspace has none. */
export async function dataset(context: Context, input: { slug: string }): Promise<DatasetHead> {
  const workspaceId = authorize(context, "read");
  return getDataset(context, workspaceId, input.slug);
}

/** The dataset with that slug for whoever was authorized already. */
export async function getDataset(
  { database }: Context,
  workspaceId: string,
  slug: string,
): Promise<DatasetHead> {
  const found = await knownDataset(database, { workspaceId, key: slug }, () =>
    readDataset(database, workspaceId, slug),
  );
  if (!found) throw datasetNotFound(slug);
  return found;
}

const knownDataset = createCache<DatasetHead>();

export async function readDataset(
  { read }: Database,
  workspaceId: string,
  slug: string,
): Promise<DatasetHead | null> {
  const found = await read
    .selectFrom("Dataset")
    .select(head)
    .where("workspace", "=", workspaceId)
    .where("slug", "=", slug)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  return found ?? null;
}

export function datasetNotFound(slug: string): GabbroError {
  return new GabbroError("DATASET_NOT_FOUND", `Dataset ${quoted(slug)} does not exist.`);
}

/** Writes rows of a dataset; DATASET_NOT_FOUND when it was deleted since it was looked up. */
export async function whileThere<T>(slug: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw isOrphan(error) ? datasetNotFound(slug) : error;
  }
}

/**
 * Adds a row, or changes the one that has its key; values of columns that the dataset does not have are left out, and
 * the warning names those columns.
 */
export async function addDatasetItem(
  context: Context,
  { slug, input }: AddDatasetItemInput,
): Promise<{ datasetRow: Row; warning: string | null }> {
  const workspace = authorize(context, "write");
  const parent = await getDataset(context, workspace, slug);
  if (input.key !== null) {
    const [added] = await whileThere(slug, () =>
      inTransaction(context.em, (em) => putRows(em, workspace, parent, [input])),
    );
    return added!;
  }
  const { stored, omitted } = storing(parent)(input.values);
  const datasetRow: Row = { ...input, id: newId(), logId: null, values: stored, createdAt: new Date() };
  await whileThere(slug, () =>
    context.database.commit([["DatasetRow", { ...datasetRow, workspace, dataset: parent.id }]]),
  );
  return { datasetRow: showingRow(parent)(datasetRow), warning: omittedOnWrite(omitted) };
}

/** A statement of MikroORM over many rows takes time that grows with their square; others are served in between. */
const MAX_ROWS_IN_FLUSH = 100;

type RowToPut = DatasetRowInput & { logId?: string };

/** Adds rows, or changes those that have their keys, in the transaction of `em`; of equal keys the last one stays. */
export async function putRows(em: EntityManager, workspace: string, parent: DatasetHead, inputs: RowToPut[]) {
  if ((await em.count(Dataset, { id: parent.id })) === 0) throw datasetNotFound(parent.slug);
  const put: { datasetRow: Row; warning: string | null }[] = [];
  for (let from = 0; from < inputs.length; from += MAX_ROWS_IN_FLUSH) {
    if (from > 0) await nextTurn();
    put.push(...(await putSome(em, workspace, parent, inputs.slice(from, from + MAX_ROWS_IN_FLUSH))));
    await em.flush();
  }
  return put;
}

async function putSome(em: EntityManager, workspace: string, parent: DatasetHead, inputs: RowToPut[]) {
  const keys = inputs.flatMap(({ key }) => key ?? []);
  const where = { dataset: parent.id, key: { $in: keys } };
  // Their texts are replaced, so they are not read: rows of 100 keys may hold 2 GB.
  const fields = ["id", "key", "logId", "createdAt"] as const;
  const existing = keys.length === 0 ? [] : await em.find(DatasetRow, where, { fields });
  const byKey = new Map<string | null, Pick<Row, (typeof fields)[number]>>(
    existing.map((row) => [row.key, row]),
  );
  const [store, show] = [storing(parent), showingRow(parent)];
  return inputs.map(({ values, ...input }) => {
    const { stored, omitted } = store(values);
    const known = input.key === null ? undefined : byKey.get(input.key);
    const row = known
      ? Object.assign(known, { ...input, values: stored })
      : em.create(DatasetRow, {
          ...input,
          id: newId(),
          workspace,
          dataset: parent.id,
          logId: input.logId ?? null,
          values: stored,
          createdAt: new Date(),
        });
    if (row.key !== null) byKey.set(row.key, row);
    return { datasetRow: show(row), warning: omittedOnWrite(omitted) };
  });
}

/** As much as one body may hold, with 32 for each of its values. */
const MAX_ROW_CHARACTERS = 20_000_000;

/**
 * Throws BAD_INPUT when the values of a row are too large. Call it where they come from more than one request: those of
 * one are bounded by its body.
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

/** For the rows of a dataset: how it shows them, with the values of its columns. */
export function showingRow(parent: DatasetHead): (row: Row) => Row {
  const show = showing(parent);
  return ({ id, name, key, logId, values, idealOutput, metadata, createdAt }) => {
    return { id, name, key, logId, values: show(values).shown, idealOutput, metadata, createdAt };
  };
}

/** The warning for columns that a dataset does not have, so that their values were left out of a row; null for none. */
export function omittedOnWrite(names: string[]): string | null {
  if (names.length === 0) return null;
  return `The following columns do not exist in the dataset and were omitted: ${listed(names)}`;
}

const MOST_NAMES = 50;

/** Names for a sentence, so many as one can read. */
export function listed(names: string[]): string {
  const some = names.slice(0, MOST_NAMES).join(", ");
  return names.length > MOST_NAMES ? `${some} and ${names.length - MOST_NAMES} more` : some;
}
