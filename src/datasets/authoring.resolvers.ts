import { isDeepStrictEqual } from "node:util";
import { LockMode } from "@mikro-orm/core";
import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import type { EntityManager } from "../database/open.ts";
import { countCopied } from "../database/requestTransaction.ts";
import { refuseDuplicates } from "../database/retry.ts";
import { inTransaction } from "../database/transaction.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { type Columns, keyOf, withColumns } from "./columns.ts";
import { Dataset, DatasetColumnsRevision } from "./entities.ts";
import { type CreateDatasetInput, MAX_COLUMNS, type UpdateDatasetInput } from "./inputs.ts";
import { removeDataset } from "./removal.resolvers.ts";
import { type DatasetHead, datasetNotFound } from "./resolvers.ts";

/** Creates a dataset without rows; CONFLICT when the slug is taken or two columns have the same name. */
export async function createDataset(context: Context, input: CreateDatasetInput): Promise<DatasetHead> {
  authorize(context, "read"); // before it writes, because it answers with the dataset
  const workspace = authorize(context, "write");
  const { slug, columns } = input;
  refuseDuplicateColumns(columns.map(({ name }) => name));
  refuseLargeColumns({ columns: [], removedColumns: [] }, { columns, removedColumns: [] });
  const fields = { slug, name: input.name ?? slug, columns, removedColumns: [], protectedTags: [] };
  const change = { action: "createDataset", subject: slug, before: null, after: auditFieldsOf(fields) };
  return refuseDuplicates(`A dataset with the slug ${quoted(slug)} exists already.`, () =>
    inTransaction(context.em, async (em) => {
      recordChange(em, context, change);
      return em.create(Dataset, { ...fields, id: newId(), workspace, version: 1, createdAt: new Date() });
    }),
  );
}

/** Changes the name and the columns of a dataset: first it removes, then renames, then adds. Rows are not touched. */
export async function updateDataset(
  context: Context,
  { slug, input }: UpdateDatasetInput,
): Promise<DatasetHead> {
  authorize(context, "read"); // before it writes, because it answers with the dataset
  authorize(context, "write");
  return inTransaction(
    context.em,
    async (em) => {
      const dataset = await getDatasetEntity(em, slug, LockMode.PESSIMISTIC_WRITE);
      const before = auditFieldsOf(dataset);
      // Before and after in the audit log, and with their keys in the dataset and its revision.
      countCopied(context.em, 2 * (bytesOfJson(before) + bytesOfColumns(dataset)));
      if (input.name) dataset.name = input.name;
      replaceColumns(em, dataset, changeColumns(dataset, input));
      recordChange(em, context, {
        action: "updateDataset",
        subject: slug,
        before,
        after: auditFieldsOf(dataset),
      });
      return dataset;
    },
    "locked rows",
  );
}

/** Makes a version of a dataset with other columns, and keeps those that it had. */
function replaceColumns(em: EntityManager, dataset: Dataset, changed: Columns): void {
  if (isDeepStrictEqual(named(dataset), named(changed))) return;
  const { columns, removedColumns, workspace } = dataset;
  dataset.version += 1;
  dataset.columnsVersion = dataset.version;
  const until = dataset.version;
  em.create(DatasetColumnsRevision, { id: newId(), workspace, dataset, until, columns, removedColumns });
  dataset.columns = changed.columns;
  dataset.removedColumns = changed.removedColumns;
}

const named = ({ columns }: Columns) => columns.map((column) => ({ ...column, key: keyOf(column) }));

/** Deletes a dataset with its rows and returns its id. */
export async function deleteDataset(context: Context, { slug }: { slug: string }): Promise<string> {
  authorize(context, "write");
  return inTransaction(context.em, async (em) => {
    const dataset = await getDatasetEntity(em, slug);
    if (dataset.protectedTags.length > 0) authorize(context, "publish"); // as it deletes protected tags
    recordChange(em, context, {
      action: "deleteDataset",
      subject: slug,
      before: auditFieldsOf(dataset),
      after: null,
    });
    await removeDataset(em, dataset);
    return dataset.id;
  });
}

function changeColumns(current: Columns, changes: UpdateDatasetInput["input"]): Columns {
  const removals = new Set(changes.removeColumns);
  const renames = new Map(changes.renameColumns?.map(({ from, to }) => [from, to]));
  const names = [...(changes.removeColumns ?? []), ...(changes.renameColumns ?? []).map(({ from }) => from)];
  refuseUnknown(names, current);
  refuseRepeated(names);
  const columns = current.columns
    .filter(({ name }) => !removals.has(name))
    .map((column) => {
      const to = renames.get(column.name);
      return to === undefined ? column : { ...column, key: keyOf(column), name: to };
    });
  const removedColumns = [
    ...current.removedColumns,
    ...current.columns.filter(({ name }) => removals.has(name)),
  ];
  const added = changes.addColumns ?? [];
  refuseDuplicateColumns([...columns, ...added].map(({ name }) => name)); // a thousand equal names would need as many keys
  const result = withColumns({ columns, removedColumns }, added);
  refuseTooMany(current, result);
  refuseLargeColumns(current, result);
  return result;
}

/** A dataset that already exceeds the limit may shrink but not grow. */
function refuseTooMany(current: Columns, { columns, removedColumns }: Columns): void {
  if (columns.length > Math.max(MAX_COLUMNS, current.columns.length)) {
    const message = `would make ${columns.length} columns; a dataset has at most ${MAX_COLUMNS}`;
    throw badInput([{ path: "addColumns", message }]);
  }
  if (removedColumns.length > Math.max(MAX_COLUMNS, current.removedColumns.length)) {
    const message = `would make ${removedColumns.length} removed columns, whose values rows keep; a dataset has at most ${MAX_COLUMNS} of them. Make a new dataset with the columns that you need`;
    throw badInput([{ path: "removeColumns", message }]);
  }
}

/**
 * A change stores the columns four times, and the first rows of a dataset have SQLite write them again: renaming one of 6 MB of
 * columns took 0.2 s, and first rows of 190 datasets with 1.5 MB, which share a transaction, 0.7 s.
 */
const MAX_COLUMN_BYTES = 256 * 1024;

/** A dataset that already exceeds the limit may have other columns, if those that it has then take no more than now. */
function refuseLargeColumns(current: Columns, changed: Columns): void {
  const bytes = bytesOfColumns(changed);
  if (bytes <= MAX_COLUMN_BYTES) return;
  const isOld = bytesOfColumns(current) > MAX_COLUMN_BYTES;
  if (isOld && bytesOfJson(named(changed)) <= bytesOfJson(named(current))) return;
  const message = `would take ${bytes} bytes as JSON, with names, types and keys, and those that were removed; all columns of a dataset take at most ${MAX_COLUMN_BYTES}. Use shorter names, or make a new dataset`;
  throw badInput([{ path: "columns", message }]);
}

const bytesOfColumns = ({ columns, removedColumns }: Columns) => bytesOfJson([columns, removedColumns]);
const bytesOfJson = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

function refuseUnknown(names: string[], { columns }: Columns): void {
  const existing = new Set(columns.map(({ name }) => name));
  const details = names
    .filter((name) => !existing.has(name))
    .map((name) => ({ path: "columns", message: `has no column ${quoted(name)}` }));
  if (details.length > 0) throw badInput(details);
}

function refuseRepeated(names: string[]): void {
  const duplicate = firstDuplicate(names);
  if (duplicate === undefined) return;
  throw badInput([
    { path: "columns", message: `cannot remove or rename ${quoted(duplicate)} more than once` },
  ]);
}

function refuseDuplicateColumns(names: string[]): void {
  const duplicate = firstDuplicate(names);
  if (duplicate !== undefined)
    throw new GabbroError("CONFLICT", `A dataset cannot have two columns ${quoted(duplicate)}.`);
}

function firstDuplicate(names: string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

export async function getDatasetEntity(
  em: EntityManager,
  slug: string,
  lockMode: LockMode = LockMode.NONE,
): Promise<Dataset> {
  const dataset = await em.findOne(Dataset, { slug }, { lockMode });
  if (!dataset) throw datasetNotFound(slug);
  return dataset;
}

function auditFieldsOf({ name, columns }: Pick<Dataset, "name" | "columns">): Record<string, unknown> {
  // With its key, as a column may take the name of another one in the same change.
  return {
    name,
    columns: columns.map((column) => ({
      ...{ name: column.name, type: column.type },
      ...(keyOf(column) !== column.name && { key: column.key }),
    })),
  };
}
