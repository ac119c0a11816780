import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { storing } from "./columns.ts";
import type { DatasetRowInput } from "./inputs.ts";
import { datasetNotFound, getDataset, readDataset, whileThere } from "./resolvers.ts";

/** What became of many rows that were put into a dataset at once. */
export interface BulkResult {
  added: number;
  changed: number;
  /** How many were there already as they are. */
  unchanged: number;
  /** The columns that the dataset lacks, so that their values were left out. */
  omitted: Set<string>;
}

const replacement = {
  key: ["dataset", "workspace", "key"],
  content: ["name", "values", "idealOutput", "metadata"],
};

/**
 * Puts judged rows into a dataset in one transaction, in their order: a row with a known key replaces the content of
 * the one that has it, so of equal keys the last one stays. For many rows: it makes no entities of them.
 */
export async function putDatasetItems(
  context: Context,
  { slug, items }: { slug: string; items: DatasetRowInput[] },
): Promise<BulkResult> {
  const workspace = authorize(context, "write");
  const parent = await getDataset(context, workspace, slug);
  const omitted = new Set<string>();
  const createdAt = new Date();
  const store = storing(parent);
  const rows = items.map(({ values, ...item }) => {
    const translated = store(values);
    for (const name of translated.omitted) omitted.add(name);
    const ours = { id: newId(), workspace, dataset: parent.id, logId: null, createdAt };
    return { ...item, ...ours, values: translated.stored };
  });
  const { added, changed } = await whileThere(slug, () =>
    context.database.putInBulk("DatasetRow", rows, replacement),
  );
  // What went into a dataset that was marked as deleted meanwhile will be removed.
  const found = await readDataset(context.database, workspace, slug);
  if (found?.id !== parent.id) throw datasetNotFound(slug);
  return { added, changed, unchanged: items.length - added - changed, omitted };
}

/** Which of these keys rows of a dataset have. */
export async function knownKeys(context: Context, datasetId: string, keys: string[]): Promise<Set<string>> {
  const workspaceId = authorize(context, "read");
  const rows = await context.database.read
    .selectFrom("DatasetRow")
    .select("key")
    .where("workspace", "=", workspaceId)
    .where("dataset", "=", datasetId)
    .where("key", "in", keys)
    .execute();
  return new Set(rows.flatMap(({ key }) => key ?? []));
}
