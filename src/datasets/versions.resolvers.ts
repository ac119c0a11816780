import { sql } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf, readByLength } from "../database/lengths.ts";
import { createLoader } from "../database/loader.ts";
import { searchEach } from "../database/searchEach.ts";
import { GabbroError, quoted } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Column } from "./entities.ts";
import type { DatasetInput } from "./inputs.ts";
import { type DatasetHead, datasetNotFound, getDataset, headColumns, renewColumns } from "./resolvers.ts";

/** Always names the newest version and is never stored. */
export const LATEST = "latest";

/** A dataset with the version that it has. */
export type DatasetState = DatasetHead & { version: number };

/** The columns of a dataset that are read with its version. */
export const stateColumns = [...headColumns, "version"] as const;

type Choice = Omit<DatasetInput, "slug">;

/**
 * The dataset with that slug, without its rows: as it is, or pinned to a version by number or by tag. With `withVersion` its
 * rows are those of the version that it has. DATASET_NOT_FOUND, VERSION_NOT_FOUND or TAG_NOT_FOUND for what is not there.
 */
export async function dataset(
  context: Context,
  { slug, withVersion, ...choice }: DatasetInput & { withVersion?: boolean },
): Promise<DatasetHead> {
  const workspace = authorize(context, "read");
  if (choice.version || choice.tag) return pin(context, await getWithTags(context, slug, [choice]), choice);
  return withVersion ? getState(context, slug) : getDataset(context, workspace, slug);
}

/** What a column takes in memory; a request can read 30 datasets of 2,000. */
const COLUMN_BYTES = 200;

/** The dataset with that slug and the version that it has. */
export async function getState(context: Context, slug: string): Promise<DatasetState> {
  const workspaceId = authorize(context, "read");
  const state = await context.database.read
    .selectFrom("Dataset")
    .select(stateColumns)
    .where("workspace", "=", workspaceId)
    .where("slug", "=", slug)
    .where("deletedAt", "is", null)
    .executeTakeFirst();
  if (!state) throw datasetNotFound(slug);
  spendAnswerBytes(context, COLUMN_BYTES * (state.columns.length + state.removedColumns.length));
  const { version, ...head } = state;
  renewColumns(context, workspaceId, head);
  return state;
}

interface Tagged {
  state: DatasetState;
  /** The versions that the wanted tags name; one that the dataset lacks is not among them. */
  versions: Map<string, number>;
}

/**
 * The dataset with that slug, and the versions that the tags of some choices name. Tags are read first: they may move meanwhile
 * to a version that the dataset did not have before.
 */
export async function getWithTags(context: Context, slug: string, choices: Choice[]): Promise<Tagged> {
  const labels = choices.flatMap(({ version, tag }) => (version || tag === LATEST ? [] : (tag ?? [])));
  const tags = labels.length > 0 ? await readTags(context, slug, labels) : [];
  const state = await getState(context, slug);
  const ofState = tags.filter(({ dataset }) => dataset === state.id); // another one may have the slug by now
  return { state, versions: new Map(ofState.map(({ label, version }) => [label, version])) };
}

/** The dataset as it was in a version; a number wins over a tag. */
export async function pin(
  context: Context,
  { state, versions }: Tagged,
  { version, tag }: Choice,
): Promise<DatasetState> {
  const label = tag ?? LATEST;
  const wanted = version || (label === LATEST ? state.version : versions.get(label));
  if (!wanted) throw datasetTagNotFound(state.slug, label);
  if (wanted > state.version) throw datasetVersionNotFound(state, wanted);
  return asOf(context, state, wanted);
}

/** The dataset as it was in a version that it had. */
export async function asOf(context: Context, state: DatasetState, wanted: number): Promise<DatasetState> {
  const columns = wanted < state.columnsVersion ? await columnsIn(context, `${state.id}@${wanted}`) : null;
  return { ...state, ...columns, version: wanted, isPinned: true, isOld: wanted < state.version };
}

function readTags(context: Context, slug: string, labels: string[]) {
  const workspaceId = authorize(context, "read");
  return context.database.read
    .selectFrom("DatasetTag")
    .innerJoin("Dataset", "Dataset.id", "DatasetTag.dataset")
    .select(["DatasetTag.dataset", "DatasetTag.label", "DatasetTag.version"])
    .where("DatasetTag.workspace", "=", workspaceId)
    .where("Dataset.workspace", "=", workspaceId)
    .where("Dataset.slug", "=", slug)
    .where("DatasetTag.label", "in", labels)
    .execute();
}

export function datasetVersionNotFound(
  { slug, version }: Pick<DatasetState, "slug" | "version">,
  wanted: number,
): GabbroError {
  const message = `Dataset ${quoted(slug)} has no version ${wanted}; its newest is ${version}.`;
  return new GabbroError("VERSION_NOT_FOUND", message);
}

export function datasetTagNotFound(slug: string, label: string): GabbroError {
  return new GabbroError("TAG_NOT_FOUND", `Dataset ${quoted(slug)} has no tag ${quoted(label)}.`);
}

interface Columns {
  columns: Column[];
  removedColumns: Column[];
}

/** The columns of a dataset before they were changed, by its id, @ and a version in which it had them. */
const columnsIn: (context: Context, key: string) => Promise<Columns | null> = createLoader(
  async (context, keys) => {
    const { read } = context.database;
    const revisions = () =>
      read.selectFrom("DatasetColumnsRevision").where("workspace", "=", authorize(context, "read"));
    const found = await searchEach(context, keys, (key) => {
      const [dataset, version] = key.split("@") as [string, string];
      const next = revisions()
        .select(["id as id", sql<number>`${lengthOf("columns")} + ${lengthOf("removedColumns")}`.as("bytes")])
        .where("dataset", "=", dataset)
        .where("until", ">", Number(version))
        .orderBy("until")
        .limit(1);
      const named = sql<string>`cast(${key} as text)`.as("key");
      return read.selectFrom(next.as("next")).select([named, "id as id", "bytes as bytes"]);
    });
    const byId = await readByLength(
      context,
      found.map(({ id }) => id),
      {
        measure: async (ids) => found.filter(({ id }) => ids.includes(id)),
        read: (ids) =>
          revisions().select(["id", "columns", "removedColumns"]).where("id", "in", ids).execute(),
      },
    );
    const ofKey = new Map(found.map(({ key, id }) => [key, byId.get(id)]));
    return keys.map((key) => {
      const { columns, removedColumns } = ofKey.get(key) ?? {};
      return columns && removedColumns ? { columns, removedColumns } : null;
    });
  },
);

/** The version that a dataset has; 0 when it is deleted. */
export const currentVersion: (context: Context, datasetId: string) => Promise<number> = createLoader(
  async (context, ids) => {
    const query = context.database.read
      .selectFrom("Dataset")
      .select(["id as id", "version as version"])
      .where("workspace", "=", authorize(context, "read"))
      .where("deletedAt", "is", null)
      .where("id", "in", ids);
    const versions = new Map(
      (await context.database.rows(query)).map(({ id, version }) => [id, Number(version)]),
    );
    return ids.map((id) => versions.get(id) ?? 0);
  },
);

/** Whether the newest rows are those of the version whose rows are read, or any serve. */
export async function isNewest(context: Context, { id, version }: DatasetHead): Promise<boolean> {
  return version === undefined || (await currentVersion(context, id)) === version;
}

/** Throws DATASET_NOT_FOUND when a dataset is deleted. Call it after several reads of its rows, which may have found only a part. */
export async function refuseDeleted(context: Context, { id, slug }: DatasetHead): Promise<void> {
  if ((await currentVersion(context, id)) === 0) throw datasetNotFound(slug);
}
