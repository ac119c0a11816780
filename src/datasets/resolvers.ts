import { setImmediate } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import type { Context } from "../context.ts";
import { batched } from "../database/batch.ts";
import { isOrphan } from "../database/codes.ts";
import type { EntityManager } from "../database/open.ts";
import { transact } from "../database/transact.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { toShown, toStored } from "./columns.ts";
import { type Dataset, DatasetRow } from "./entities.ts";
import {
  type AddDatasetItemInput,
  type DatasetRowInput,
  MOST_ROWS_AT_ONCE,
  type RowsInput,
} from "./inputs.ts";

const ROWS_IN_ONE_READ = 500;

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
export async function getDataset(context: Context, workspaceId: string, slug: string): Promise<DatasetHead> {
  const found = await context.database.read
    .selectFrom("Dataset")
    .select(head)
    .where("workspace", "=", workspaceId)
    .where("slug", "=", slug)
    .executeTakeFirst();
  if (!found) throw datasetNotFound(slug);
  return found;
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
 * A page of a dataset's rows, in their order, each with the columns that the dataset has. Without `first` all rows
 * come, unless there are more than 10,000: then a BAD_INPUT error says to page.
 */
export async function datasetRows(
  context: Context,
  parent: DatasetHead,
  { first, after }: RowsInput,
): Promise<Row[]> {
  const rows: Row[] = [];
  const range = { after: after ?? null, most: first ?? MOST_ROWS_AT_ONCE + 1 };
  for await (const piece of rowsInPieces(context, parent, range)) rows.push(...piece.rows);
  if (rows.length <= MOST_ROWS_AT_ONCE) return rows;
  const message = `is needed: the dataset has more than ${MOST_ROWS_AT_ONCE} rows. Page with rows(first: 1000, after: <id of the last row>)`;
  throw badInput([{ path: "first", message }]);
}

interface Piece {
  rows: Row[];
  /** The columns whose values were left out, with repetitions. */
  omitted: string[];
}

/** All rows of a dataset in their order, piece by piece, so that a huge dataset never stands in memory. */
export function allDatasetRows(context: Context, parent: DatasetHead): AsyncGenerator<Piece> {
  return rowsInPieces(context, parent, { after: null, most: Number.POSITIVE_INFINITY });
}

async function* rowsInPieces(
  context: Context,
  parent: DatasetHead,
  range: { after: string | null; most: number },
): AsyncGenerator<Piece> {
  let { after, most } = range;
  while (most > 0) {
    const size = Math.min(most, ROWS_IN_ONE_READ);
    const read = await readRows(context, parent, after, size);
    const known = read.map((row) => ({ row, ...toShown(row.values, parent) }));
    const rows = known.map(({ row, shown }) => ({ ...row, values: shown }));
    if (read.length > 0) yield { rows, omitted: known.flatMap(({ omitted }) => omitted) };
    if (read.length < size) return;
    most -= read.length;
    after = read.at(-1)?.id ?? null;
    await setImmediate(); // SQLite answers at once, so without this a long read would let nobody else in
  }
}

async function readRows(
  context: Context,
  parent: DatasetHead,
  after: string | null,
  most: number,
): Promise<Row[]> {
  const workspaceId = authorize(context, "read");
  let query = context.database.read
    .selectFrom("DatasetRow")
    .select(["id", "name", "key", "logId", "values", "idealOutput", "metadata", "createdAt"])
    .where("workspace", "=", workspaceId)
    .where("dataset", "=", parent.id);
  if (after !== null) query = query.where("id", ">", after);
  return query.orderBy("id").limit(most).execute();
}

/** What to tell of the stored values that no column shows any more; null when there are none. */
export async function datasetWarning(context: Context, parent: DatasetHead): Promise<string | null> {
  const omitted = new Set<string>();
  for await (const piece of allDatasetRows(context, parent))
    for (const name of piece.omitted) omitted.add(name);
  return omittedOnRead(omitted);
}

/** The warning for columns whose stored values were left out of the rows that were read; null for none. */
export function omittedOnRead(names: ReadonlySet<string>): string | null {
  if (names.size === 0) return null;
  return `Some rows contained columns that do not exist in the dataset and were omitted: ${listed([...names])}`;
}

/** How many rows a dataset has. */
export const rowCount: (context: Context, datasetId: string) => Promise<number> = batched(
  async (context, ids) => {
    const workspaceId = authorize(context, "read");
    const counts = await context.database.read
      .selectFrom("DatasetRow")
      .select((expression) => ["dataset", expression.fn.countAll<number>().as("rows")])
      .where("workspace", "=", workspaceId)
      .where("dataset", "in", ids)
      .groupBy("dataset")
      .execute();
    const byDataset = new Map(counts.map((count) => [count.dataset, Number(count.rows)]));
    return ids.map((id) => byDataset.get(id) ?? 0);
  },
);

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
      transact(context.em, (em) => putRows(em, workspace, parent, [input])),
    );
    return added!;
  }
  const { stored, omitted } = toStored(input.values, parent);
  const datasetRow: Row = { ...input, id: uuidv7(), logId: null, values: stored, createdAt: new Date() };
  await whileThere(slug, () =>
    context.database.commit([["DatasetRow", { ...datasetRow, workspace, dataset: parent.id }]]),
  );
  return { datasetRow: shownRow(datasetRow, parent), warning: omittedOnWrite(omitted) };
}

/** Adds rows, or changes those that have their keys, in the transaction of `em`; of equal keys the last one stays. */
export async function putRows(
  em: EntityManager,
  workspace: string,
  parent: DatasetHead,
  inputs: (DatasetRowInput & { logId?: string })[],
) {
  const keys = inputs.flatMap(({ key }) => key ?? []);
  const existing =
    keys.length === 0 ? [] : await em.find(DatasetRow, { dataset: parent.id, key: { $in: keys } });
  const byKey = new Map(existing.map((row) => [row.key, row]));
  return inputs.map(({ values, ...input }) => {
    const { stored, omitted } = toStored(values, parent);
    const known = input.key === null ? undefined : byKey.get(input.key);
    const row = known
      ? em.assign(known, { ...input, values: stored })
      : em.create(DatasetRow, {
          ...input,
          id: uuidv7(),
          workspace,
          dataset: parent.id,
          logId: input.logId ?? null,
          values: stored,
          createdAt: new Date(),
        });
    if (row.key !== null) byKey.set(row.key, row);
    return { datasetRow: shownRow(row, parent), warning: omittedOnWrite(omitted) };
  });
}

/** A row as its dataset shows it: with the values of the dataset's columns. */
export function shownRow(
  { id, name, key, logId, values, idealOutput, metadata, createdAt }: Row,
  parent: DatasetHead,
): Row {
  return { id, name, key, logId, values: toShown(values, parent).shown, idealOutput, metadata, createdAt };
}

/** The warning for columns that a dataset does not have, so that their values were left out of a row; null for none. */
export function omittedOnWrite(names: string[]): string | null {
  if (names.length === 0) return null;
  return `The following columns do not exist in the dataset and were omitted: ${listed(names)}`;
}

const MOST_NAMES = 50;

function listed(names: string[]): string {
  const some = names.slice(0, MOST_NAMES).join(", ");
  return names.length > MOST_NAMES ? `${some} and ${names.length - MOST_NAMES} more` : some;
}
