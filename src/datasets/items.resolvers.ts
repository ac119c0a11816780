import type { Context } from "../context.ts";
import { isOrphan } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { countCopied } from "../database/requestTransaction.ts";
import { inTransaction } from "../database/transaction.ts";
import { badInput, type ErrorCode, type ErrorDetail, GabbroError, quoted } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { createPause } from "../limits/turns.ts";
import { detailsOf } from "../validation/messages.ts";
import type { Warning } from "../warnings.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { valuesEncoder } from "./columns.ts";
import { rowBytes } from "./contents.resolvers.ts";
import { type Dataset, DatasetRow } from "./entities.ts";
import {
  type AddDatasetItemInput,
  type AddDatasetItemsInput,
  type DatasetRowInput,
  datasetRowInput,
  type UpdateDatasetItemInput,
} from "./inputs.ts";
import { storeRows } from "./put.resolvers.ts";
import {
  type DatasetHead,
  findLocked,
  getDataset,
  nextVersion,
  omittedColumns,
  type Row,
  refuseLargeRow,
  rowDecoder,
  type StoredItem,
} from "./resolvers.ts";

/** Why a row was refused; `index` is its place in the request. */
export interface ItemError {
  index: number;
  code: ErrorCode;
  message: string;
  details: ErrorDetail[];
}

/** What became of many rows, in their order. */
export interface StoredItems {
  /** Null for a row that was refused. */
  datasetRows: (Row | null)[];
  errors: ItemError[];
  /** Their paths begin with the row's, such as `items.2`. */
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
  if (input.key === null) {
    try {
      return await appendRow(context, { workspace, parent, input });
    } catch (error) {
      if (!isOrphan(error)) throw error; // else the dataset changed since it was read: store the row under its lock
    }
  }
  const [added] = await storeRows(context, { workspace, parent, inputs: [input] });
  return added!;
}

interface NewRow {
  workspace: string;
  parent: DatasetHead;
  input: DatasetRowInput;
}

/** Adds a row by group commit; throws the error of an orphan when the dataset was deleted, or its columns changed, meanwhile. */
async function appendRow(context: Context, { workspace, parent, input }: NewRow): Promise<StoredItem> {
  const { values, omitted } = valuesEncoder(parent)(input.values);
  const datasetRow: Row = { ...input, id: newId(), logId: null, values, createdAt: new Date() };
  const { id: dataset, columnsVersion: version } = parent;
  await context.database.commit([["DatasetRow", { ...datasetRow, workspace, dataset, version }]]);
  return { datasetRow: rowDecoder(parent)(datasetRow), warnings: omittedColumns(omitted) };
}

/**
 * Adds up to 1,000 rows in one transaction, in their order; a row with an existing key changes the row that has it. An
 * invalid row is refused alone, and an error with its index says why.
 */
export async function addDatasetItems(
  context: Context,
  { slug, input: { items } }: AddDatasetItemsInput,
): Promise<StoredItems> {
  const workspace = authorize(context, "write");
  const parent = await getDataset(context, workspace, slug);
  const parsed = items.map((item) => datasetRowInput.safeParse(item));
  const valid = parsed.flatMap(({ data }): DatasetRowInput[] => (data ? [data] : []));
  const rows = await storeRows(context, { workspace, parent, inputs: valid });
  const stored = rows.values();
  const result: StoredItems = { datasetRows: [], errors: [], warnings: [] };
  for (const [index, { error }] of parsed.entries()) {
    if (error) {
      const { code, message, details = [] } = badInput(detailsOf(error.issues));
      result.errors.push({ index, code, message, details });
      result.datasetRows.push(null);
      continue;
    }
    const { datasetRow, warnings } = stored.next().value!;
    result.datasetRows.push(datasetRow);
    result.warnings.push(...warnings.map((one) => ({ ...one, path: `items.${index}.${one.path}` })));
  }
  return result;
}

/** Changes the fields of a row that the input has; ROW_NOT_FOUND when the workspace has none with that id. */
export async function updateDatasetItem(
  context: Context,
  { id, input: { values, ...changes } }: UpdateDatasetItemInput,
): Promise<StoredItem> {
  authorize(context, "read"); // before it writes, because it answers with the whole row
  authorize(context, "write");
  return changeRow(context, id, async ({ em, parent, version, bytes }) => {
    spendAnswerBytes(context, bytes); // 29 changes of a row of 10 MB held 29 of them until the answer
    const pause = createPause();
    const before = await contentOfRow(context.database.readWithin(em), parent, id);
    await pause(); // parsing a long row and storing it take 50 ms each
    const encoded = valuesEncoder(parent)(values ?? {});
    const changed = {
      ...(changes.name !== undefined && { name: changes.name || null }),
      ...(changes.idealOutput !== undefined && { idealOutput: changes.idealOutput }),
      ...(changes.metadata !== undefined && { metadata: changes.metadata }),
      ...(values && { values: { ...before.values, ...encoded.values } }),
    };
    const row = { ...before, ...changed };
    refuseLargeRow(row, before);
    await pause();
    // Not by a managed entity: to find out what changed, its JSON is written three times more, in 150 ms for 16 MB.
    await em.nativeUpdate(DatasetRow, { workspace: parent.workspace.id, id }, { version, ...changed });
    await pause();
    return { datasetRow: rowDecoder(parent)(row), warnings: omittedColumns(encoded.omitted) };
  });
}

/** Deletes a row and returns its id; ROW_NOT_FOUND when the workspace has none with that id. */
export async function deleteDatasetItem(context: Context, { id }: { id: string }): Promise<string> {
  authorize(context, "write");
  await changeRow(context, id, async ({ em }) => em.remove(em.getReference(DatasetRow, id)));
  return id;
}

interface Change {
  em: EntityManager;
  parent: Dataset;
  /** The version of the dataset that the change makes. */
  version: number;
  /** The length of the row's texts. */
  bytes: number;
}

/** Runs `change`, which reads the row as far as it needs it, once the row's dataset is locked. */
function changeRow<T>(context: Context, id: string, change: (locked: Change) => Promise<T>): Promise<T> {
  return inTransaction(
    context.em,
    async (em) => {
      const found = await em.findOne(DatasetRow, { id }, { fields: ["dataset"] });
      const parent = found && (await findLocked(em, found.dataset.id));
      if (!parent) throw rowNotFound(id);
      const version = await nextVersion(em, parent);
      const row = await lengthOfRow(context.database.readWithin(em), parent, id);
      if (!row) throw rowNotFound(id);
      const bytes = Number(row.bytes);
      countCopied(context.em, bytes);
      return change({ em, parent, version, bytes });
    },
    "locked rows",
  );
}

/** The length of the texts of a row; undefined when there is none. */
const lengthOfRow = (read: Database["read"], { workspace, id: dataset }: Dataset, id: string) =>
  read
    .selectFrom("DatasetRow")
    .select(rowBytes.as("bytes"))
    .where("workspace", "=", workspace.id)
    .where("dataset", "=", dataset)
    .where("id", "=", id)
    .executeTakeFirst();

/** A row as it is stored. */
const contentOfRow = (read: Database["read"], { workspace, id: dataset }: Dataset, id: string) =>
  read
    .selectFrom("DatasetRow")
    .select(["id", "name", "key", "logId", "values", "idealOutput", "metadata", "createdAt"])
    .where("workspace", "=", workspace.id)
    .where("dataset", "=", dataset)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();

function rowNotFound(id: string): GabbroError {
  return new GabbroError("ROW_NOT_FOUND", `Row ${quoted(id)} does not exist.`);
}
