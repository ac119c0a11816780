import type { Context } from "../../context.ts";
import { createDataset, updateDataset } from "../../datasets/authoring.resolvers.ts";
import { compareDatasetItems, putDatasetItems } from "../../datasets/bulk.resolvers.ts";
import type { Column } from "../../datasets/entities.ts";
import { columnInput, createDatasetInput, type DatasetRowInput } from "../../datasets/inputs.ts";
import type { DatasetHead } from "../../datasets/resolvers.ts";
import { dataset } from "../../datasets/versions.resolvers.ts";
import { badInput, GabbroError } from "../../errors.ts";
import type { ColumnType, RowFile } from "../../formats/rows.ts";
import { detailsOf } from "../../validation/messages.ts";

/** The dataset that rows are imported into, which may not be there yet. */
export type Target = Awaited<ReturnType<typeof openTarget>>;

const MAX_COLUMNS = 1_000;

interface TargetOptions {
  slug: string;
  name?: string;
  dryRun?: true;
  /** What an existing dataset does with columns that it lacks. */
  newColumns?: "left out" | "added";
}

/** Finds the dataset; a missing one is created when the first rows are stored, with the columns of the file. */
export async function openTarget(
  context: Context,
  { slug, name, dryRun, newColumns = "left out" }: TargetOptions,
) {
  const existing = await findDataset(context, slug);
  const isNew = !existing;
  const columns = new Map<string, ColumnType>(existing?.columns.map((column) => [column.name, column.type]));
  const omitted = new Set<string>();
  const counts = { added: 0, changed: 0, unchanged: 0 };
  let isCreated = !isNew;
  let head: { name: string | null; columns: Column[] } = { name: null, columns: [] };
  if (isNew) validateHead({ slug, name: name ?? null, columns: [] });

  /** Creates the dataset, or adds columns to it. */
  const createOrExtend = async (newColumns: Column[]) => {
    for (const column of newColumns) columns.set(column.name, column.type);
    if (dryRun) return;
    if (!isCreated)
      await createDataset(
        context,
        validateHead({ slug, name: head.name, columns: [...head.columns, ...newColumns] }),
      );
    else if (newColumns.length > 0) await updateDataset(context, { slug, input: { addColumns: newColumns } });
    isCreated = true;
  };

  return {
    typeOf: (column: string) => columns.get(column),
    /** Takes the name and the columns of a new dataset from a file. */
    expect: async (file: Pick<RowFile, "name" | "columns">) => {
      if (!isNew) return;
      head = { name: name ?? file.name, columns: file.columns ?? [] };
      validateHead({ slug, ...head });
      for (const column of head.columns) columns.set(column.name, column.type);
    },
    put: async (inputs: DatasetRowInput[]) => {
      if (inputs.length === 0) return;
      if (isNew || newColumns === "added") await createOrExtend(columnsOf(inputs, columns));
      const result = dryRun
        ? await countChanges(context, existing, { inputs, columns })
        : await putDatasetItems(context, { slug, items: inputs });
      for (const column of result.omitted) omitted.add(column);
      counts.added += result.added;
      counts.changed += result.changed;
      counts.unchanged += result.unchanged;
    },
    addOmitted: (names: string[]) => {
      for (const name of names) omitted.add(name);
    },
    /** Creates the dataset even without a valid row. */
    finish: async () => {
      if (!isCreated) await createOrExtend([]);
    },
    omitted,
    isNew,
    counts,
    /** The name of an existing dataset, when the options name another. */
    keptName: existing && name !== undefined && name !== existing.name ? existing.name : null,
  };
}

async function findDataset(context: Context, slug: string): Promise<DatasetHead | null> {
  try {
    return await dataset(context, { slug });
  } catch (error) {
    if (error instanceof GabbroError && error.code === "DATASET_NOT_FOUND") return null;
    throw error;
  }
}

function validateHead(input: { slug: string; name: string | null; columns: Column[] }) {
  const { data, error } = createDatasetInput.safeParse(input);
  if (error) throw badInput(detailsOf(error.issues));
  return data;
}

/** The columns that rows need and the dataset lacks, of type json where a value is an object or an array. */
function columnsOf(inputs: DatasetRowInput[], existing: Map<string, ColumnType>): Column[] {
  const types = new Map<string, ColumnType>();
  for (const { values } of inputs) {
    for (const [name, value] of Object.entries(values)) {
      if (existing.has(name)) continue;
      const type = typeof value === "object" && value !== null ? "json" : (types.get(name) ?? "text");
      types.set(name, type);
    }
  }
  return [...types]
    .map(([name, type]) => ({ name, type }))
    .filter((column) => columnInput.safeParse(column).success)
    .slice(0, Math.max(0, MAX_COLUMNS - existing.size));
}

/** The counts of a dry run. A key that the file repeats counts as often, as remembering all keys takes memory. */
async function countChanges(
  context: Context,
  existing: DatasetHead | null,
  { inputs, columns }: { inputs: DatasetRowInput[]; columns: Map<string, ColumnType> },
) {
  const counts = existing
    ? await compareDatasetItems(context, { slug: existing.slug, items: inputs })
    : { added: inputs.length, changed: 0, unchanged: 0 };
  const names = inputs.flatMap(({ values }) => Object.keys(values));
  return { ...counts, omitted: new Set(names.filter((name) => !columns.has(name))) };
}
