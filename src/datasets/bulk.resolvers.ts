import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { valuesEncoder } from "./columns.ts";
import type { DatasetRowInput } from "./inputs.ts";
import { getDataset, refuseOrphans } from "./resolvers.ts";

/** The result of storing many rows at once. */
export interface BulkResult {
  added: number;
  changed: number;
  /** How many rows existed with the same content. */
  unchanged: number;
  /** The names of columns that the dataset lacks; their values were left out. */
  omitted: Set<string>;
}

const replacement = {
  key: ["dataset", "workspace", "key"],
  content: ["name", "values", "idealOutput", "metadata"],
  along: ["version"],
};

/**
 * Stores valid rows in one transaction, in their order. A row replaces the content of the row that has its key, so the
 * last of several with one key wins. Makes no entities, as there may be very many rows.
 */
export async function putDatasetItems(
  context: Context,
  { slug, items }: { slug: string; items: DatasetRowInput[] },
): Promise<BulkResult> {
  const workspace = authorize(context, "write");
  const parent = await getDataset(context, workspace, slug);
  const omitted = new Set<string>();
  const createdAt = new Date();
  const encode = valuesEncoder(parent);
  const rows = items.map(({ values, ...item }) => {
    const encoded = encode(values);
    for (const name of encoded.omitted) omitted.add(name);
    const ours = {
      id: newId(),
      workspace,
      dataset: parent.id,
      logId: null,
      createdAt,
    };
    return { ...item, ...ours, values: encoded.values };
  });
  const { added, changed } = await refuseOrphans(slug, () =>
    context.database.putInBulk({ id: parent.id, workspace }, rows, replacement),
  );
  return { added, changed, unchanged: items.length - added - changed, omitted };
}

/** Those of the keys that a dataset has rows for. */
export async function findKeys(context: Context, datasetId: string, keys: string[]): Promise<Set<string>> {
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
