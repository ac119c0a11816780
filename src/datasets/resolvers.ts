import { v7 as uuidv7 } from "uuid";
import type { Context } from "../context.ts";
import { batched } from "../database/batch.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Column, Dataset, DatasetRow } from "./entities.ts";
import { type AddDatasetItemInput, MOST_ROWS_AT_ONCE, type RowsInput } from "./inputs.ts";

const ROWS_IN_ONE_READ = 1_000;

export type DatasetHead = Pick<Dataset, "id" | "slug" | "name" | "columns" | "createdAt">;
export type Row = Pick<DatasetRow, "id" | "name" | "values" | "idealOutput" | "metadata" | "createdAt">;

/** The dataset with that slug, without its rows; DATASET_NOT_FOUND when the workspace has none. */
export async function dataset(context: Context, input: { slug: string }): Promise<DatasetHead> {
  const workspaceId = authorize(context, "read");
  return getDataset(context, workspaceId, input.slug);
}

async function getDataset(context: Context, workspaceId: string, slug: string): Promise<DatasetHead> {
  const found = await context.database.read
    .selectFrom("Dataset")
    .select(["id", "slug", "name", "columns", "createdAt"])
    .where("workspace", "=", workspaceId)
    .where("slug", "=", slug)
    .executeTakeFirst();
  if (!found) throw new GabbroError("DATASET_NOT_FOUND", `Dataset ${quoted(slug)} does not exist.`);
  return found;
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
  const rows = await readRows(context, parent, after ?? null, first ?? MOST_ROWS_AT_ONCE + 1);
  if (rows.length > MOST_ROWS_AT_ONCE) {
    const message = `is needed: the dataset has more than ${MOST_ROWS_AT_ONCE} rows. Page with rows(first: 1000, after: <id of the last row>)`;
    throw badInput([{ path: "first", message }]);
  }
  return rows.map((row) => ({ ...row, values: knownValues(row.values, parent.columns).values }));
}

/** All rows of a dataset in their order, read piece by piece, so that a huge dataset never stands in memory. */
export async function* allDatasetRows(
  context: Context,
  parent: DatasetHead,
): AsyncGenerator<{ rows: Row[]; omitted: string[] }> {
  let after: string | null = null;
  for (;;) {
    const read: Row[] = await readRows(context, parent, after, ROWS_IN_ONE_READ);
    if (read.length === 0) return;
    const known = read.map((row) => ({ row, ...knownValues(row.values, parent.columns) }));
    yield {
      rows: known.map(({ row, values }) => ({ ...row, values })),
      omitted: known.flatMap(({ omitted }) => omitted),
    };
    if (read.length < ROWS_IN_ONE_READ) return;
    after = read.at(-1)?.id ?? null;
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
    .select(["id", "name", "values", "idealOutput", "metadata", "createdAt"])
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
  return `Some rows contained columns that do not exist in the dataset and were omitted: ${[...names].join(", ")}`;
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

/** Adds a row; values of columns that the dataset does not have are left out, and the warning names those columns. */
export async function addDatasetItem(
  context: Context,
  { slug, input }: AddDatasetItemInput,
): Promise<{ datasetRow: Row; warning: string | null }> {
  const workspaceId = authorize(context, "write");
  const parent = await getDataset(context, workspaceId, slug);
  const { values, omitted } = knownValues(input.values, parent.columns);
  const datasetRow: Row = { ...input, id: uuidv7(), values, createdAt: new Date() };
  await context.database.commit([
    ["DatasetRow", { ...datasetRow, workspace: workspaceId, dataset: parent.id }],
  ]);
  const warning =
    omitted.length === 0
      ? null
      : `The following columns do not exist in the dataset and were omitted: ${omitted.join(", ")}`;
  return { datasetRow, warning };
}

function knownValues(values: Record<string, unknown>, columns: Column[]) {
  const names = new Set(columns.map(({ name }) => name));
  const omitted = Object.keys(values).filter((name) => !names.has(name));
  if (omitted.length === 0) return { values, omitted };
  return { values: Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name))), omitted };
}
