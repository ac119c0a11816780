import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { isOrphan } from "../database/driverErrors.ts";
import { newId } from "../database/ids.ts";
import { GabbroError, quoted } from "../errors.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { valuesEncoder } from "./columns.ts";
import type { DatasetRowInput } from "./inputs.ts";
import { type DatasetHead, getDataset, readDataset } from "./resolvers.ts";

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

/** How often the columns of a dataset may change while the same rows are stored. */
const MAX_ATTEMPTS = 5;

/**
 * Stores valid rows in one transaction, in their order. A row replaces the content of the row that has its key, so the
 * last of several with one key wins. Makes no entities, as there may be very many rows.
 */
export async function putDatasetItems(
  context: Context,
  { slug, items }: { slug: string; items: DatasetRowInput[] },
): Promise<BulkResult> {
  const workspace = authorize(context, "write");
  let parent = await getDataset(context, workspace, slug);
  for (let attempt = 1; ; attempt++) {
    try {
      return await putBy(context, { workspace, parent, items });
    } catch (error) {
      if (!isOrphan(error)) throw error;
      if (attempt === MAX_ATTEMPTS) throw columnsKeepChanging(slug);
      parent = await readDataset(context.database, workspace, slug); // its columns were changed, or it was deleted
    }
  }
}

const columnsKeepChanging = (slug: string) =>
  new GabbroError(
    "UNAVAILABLE",
    `The columns of the dataset ${quoted(slug)} keep changing; try again in a moment.`,
  );

interface Bulk {
  workspace: string;
  parent: DatasetHead;
  items: DatasetRowInput[];
}

/** Stores rows by the columns of `parent`. */
async function putBy(context: Context, { workspace, parent, items }: Bulk): Promise<BulkResult> {
  const omitted = new Set<string>();
  const createdAt = new Date();
  const encode = valuesEncoder(parent);
  const { id: dataset, columnsVersion } = parent;
  const rows = items.map(({ values, ...item }) => {
    const encoded = encode(values);
    for (const name of encoded.omitted) omitted.add(name);
    return { ...item, id: newId(), workspace, dataset, logId: null, createdAt, values: encoded.values };
  });
  const known = { id: dataset, workspace, columnsVersion };
  const { added, changed } = await context.database.putInBulk(known, rows, replacement);
  return { added, changed, unchanged: items.length - added - changed, omitted };
}

/** What `putDatasetItems` would do with rows whose columns exist; stores nothing. Several rows with one key each count. */
export async function compareDatasetItems(
  context: Context,
  { slug, items }: { slug: string; items: DatasetRowInput[] },
): Promise<BulkResult> {
  const workspace = authorize(context, "read");
  const parent = await getDataset(context, workspace, slug);
  const stored = await readByKey(context, parent.id, items);
  const encode = valuesEncoder(parent);
  const omitted = new Set<string>();
  const counts = { added: 0, changed: 0, unchanged: 0 };
  for (const { key, name, idealOutput, metadata, values } of items) {
    const encoded = encode(values);
    for (const column of encoded.omitted) omitted.add(column);
    const before = key === null ? undefined : stored.get(key);
    const after = { key, name, idealOutput, metadata, values: encoded.values };
    counts[!before ? "added" : isDeepStrictEqual(before, after) ? "unchanged" : "changed"] += 1;
  }
  return { ...counts, omitted };
}

/** The rows of a dataset that have the keys of others. */
async function readByKey(context: Context, datasetId: string, items: DatasetRowInput[]) {
  const keys = items.flatMap(({ key }) => key ?? []);
  if (keys.length === 0) return new Map<string, unknown>();
  const rows = await context.database.read
    .selectFrom("DatasetRow")
    .select(["key", "name", "idealOutput", "metadata", "values"])
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", datasetId)
    .where("key", "in", keys)
    .execute();
  return new Map<string, unknown>(rows.map((row) => [row.key!, row]));
}
