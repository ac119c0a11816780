import type { Context } from "../context.ts";
import { createDataset, updateDataset } from "../datasets/authoring.resolvers.ts";
import { findKeys, putDatasetItems } from "../datasets/bulk.resolvers.ts";
import type { Column } from "../datasets/entities.ts";
import { columnInput, createDatasetInput, type DatasetRowInput } from "../datasets/inputs.ts";
import { type DatasetHead, dataset } from "../datasets/resolvers.ts";
import { badInput, GabbroError } from "../errors.ts";
import type { ColumnType, RowFile } from "../formats/rows.ts";
import { detailsOf } from "../validation/messages.ts";

/** The dataset that rows are imported into, which may not be there yet. */
export type Target = Awaited<ReturnType<typeof openTarget>>;

const MOST_COLUMNS = 1_000;

/** Finds the dataset; one that is not there is made when the first rows are stored, with the columns of the file. */
export async function openTarget(
  context: Context,
  { slug, name, dryRun }: { slug: string; name?: string; dryRun?: true },
) {
  const existing = await findDataset(context, slug);
  const isNew = !existing;
  const columns = new Map<string, ColumnType>(existing?.columns.map((column) => [column.name, column.type]));
  const omitted = new Set<string>();
  const counts = { added: 0, changed: 0, unchanged: 0 };
  let isMade = !isNew;
  let made: { name: string | null; columns: Column[] } = { name: null, columns: [] };
  if (isNew) judgeHead({ slug, name: name ?? null, columns: [] });

  /** Makes the dataset, or gives it the columns that came up. */
  const make = async (fresh: Column[]) => {
    for (const column of fresh) columns.set(column.name, column.type);
    if (dryRun) return;
    if (!isMade)
      await createDataset(
        context,
        judgeHead({ slug, name: made.name, columns: [...made.columns, ...fresh] }),
      );
    else if (fresh.length > 0) await updateDataset(context, { slug, addColumns: fresh });
    isMade = true;
  };

  return {
    typeOf: (column: string) => columns.get(column),
    /** Learns what a file tells of the dataset. */
    expect: async (file: RowFile) => {
      if (!isNew) return;
      made = { name: name ?? file.name, columns: file.columns ?? [] };
      judgeHead({ slug, ...made });
      for (const column of made.columns) columns.set(column.name, column.type);
    },
    put: async (inputs: DatasetRowInput[]) => {
      if (inputs.length === 0) return;
      if (isNew) await make(newColumns(inputs, columns));
      const result = dryRun
        ? await wouldBe(context, existing, { inputs, columns })
        : await putDatasetItems(context, { slug, items: inputs });
      for (const column of result.omitted) omitted.add(column);
      counts.added += result.added;
      counts.changed += result.changed;
      counts.unchanged += result.unchanged;
    },
    note: (names: string[]) => {
      for (const beside of names) omitted.add(beside);
    },
    /** Makes the dataset although no row was good. */
    finish: async () => {
      if (!isMade) await make([]);
    },
    omitted,
    isNew,
    counts,
    /** The name that an existing dataset keeps although another was given. */
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

function judgeHead(input: { slug: string; name: string | null; columns: Column[] }) {
  const judged = createDatasetInput.safeParse(input);
  if (judged.error) throw badInput(detailsOf(judged.error.issues));
  return judged.data;
}

/** Columns that rows have values for and the dataset does not have yet: JSON where a value is no plain one. */
function newColumns(inputs: DatasetRowInput[], known: Map<string, ColumnType>): Column[] {
  const types = new Map<string, ColumnType>();
  for (const { values } of inputs) {
    for (const [name, value] of Object.entries(values)) {
      if (known.has(name)) continue;
      const type = typeof value === "object" && value !== null ? "json" : (types.get(name) ?? "text");
      types.set(name, type);
    }
  }
  return [...types]
    .map(([name, type]) => ({ name, type }))
    .filter((column) => columnInput.safeParse(column).success)
    .slice(0, Math.max(0, MOST_COLUMNS - known.size));
}

/** Rows with a key that the dataset has would change; those that the file repeats are not told apart, for that takes memory. */
async function wouldBe(
  context: Context,
  existing: DatasetHead | null,
  { inputs, columns }: { inputs: DatasetRowInput[]; columns: Map<string, ColumnType> },
) {
  const keys = inputs.flatMap(({ key }) => key ?? []);
  const known = existing && keys.length > 0 ? await findKeys(context, existing.id, keys) : new Set();
  const changed = keys.filter((key) => known.has(key)).length;
  const names = inputs.flatMap(({ values }) => Object.keys(values));
  const omitted = new Set(names.filter((name) => !columns.has(name)));
  return { added: inputs.length - changed, changed, unchanged: 0, omitted };
}
