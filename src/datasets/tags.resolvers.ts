import { LockMode } from "@mikro-orm/core";
import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { createProtectedTagsLoader, refuseMoreTags, sortByLabel } from "../database/labels.ts";
import { readLists } from "../database/lengths.ts";
import { createFinder, createLoader } from "../database/loader.ts";
import type { EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { GabbroError } from "../errors.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { getDatasetEntity } from "./authoring.resolvers.ts";
import { Dataset, DatasetTag } from "./entities.ts";
import type { RemoveDatasetTagInput, SetDatasetTagProtectionInput, TagDatasetInput } from "./inputs.ts";
import { datasetTagNotFound, datasetVersionNotFound, LATEST } from "./versions.resolvers.ts";

/** A tag after a change; `version` is null when the tag was removed. */
export interface DatasetTagState {
  id: string;
  label: string;
  version: number | null;
  /** The slug of the dataset. */
  slug: string;
}

/** The tags of a dataset, in the order of their names. */
export const datasetTags = createLoader(async (context, ids: string[]) => {
  const workspaceId = authorize(context, "read");
  const { read, rows } = context.database;
  const lists = await readLists(context, ids, ({ parents, after, limit }) => {
    let query = read
      .selectFrom("DatasetTag")
      .select(["id as id", "label as label", "version as version", "dataset as parent"])
      .where("workspace", "=", workspaceId)
      .where("dataset", "in", parents)
      .limit(limit);
    if (parents.length === 1) query = query.orderBy("id");
    if (after !== null) query = query.where("id", ">", after);
    return rows(query);
  });
  return sortByLabel(context, lists);
});

/** The tag with that id; null when the workspace has none. */
export const findDatasetTag: (
  context: Context,
  id: string,
) => Promise<{ id: string; label: string; version: number } | null> = createFinder(async (context, ids) => {
  const workspaceId = authorize(context, "read");
  return context.database.read
    .selectFrom("DatasetTag")
    .innerJoin("Dataset", "Dataset.id", "DatasetTag.dataset")
    .select(["DatasetTag.id", "DatasetTag.label", "DatasetTag.version"])
    .where("DatasetTag.workspace", "=", workspaceId)
    .where("Dataset.workspace", "=", workspaceId)
    .where("Dataset.deletedAt", "is", null)
    .where("DatasetTag.id", "in", ids)
    .execute();
});

/** The protected tags of a dataset, by name. */
export const protectedDatasetTags = createProtectedTagsLoader("Dataset", (context) =>
  authorize(context, "read"),
);

/**
 * Has a tag name a version, given by number or by another tag; creates the tag when the dataset has none of that name.
 * NOT_FOUND for a missing version or tag, FORBIDDEN for `latest` and for protected tags.
 */
export async function tagDatasetVersion(
  context: Context,
  { slug, input: { tag: label, to } }: TagDatasetInput,
): Promise<DatasetTagState> {
  authorize(context, "write");
  return changeTag(context, { slug, label, action: "tagDatasetVersion" }, async (em, dataset) => {
    const version = to.version ?? (await versionOf(em, dataset, to.tag ?? LATEST));
    if (version > dataset.version) throw datasetVersionNotFound(dataset, version);
    return version;
  });
}

/** Removes a tag; TAG_NOT_FOUND when the dataset has none of that name. */
export async function removeDatasetTag(
  context: Context,
  { slug, input: { tag: label } }: RemoveDatasetTagInput,
): Promise<DatasetTagState> {
  authorize(context, "write");
  return changeTag(context, { slug, label, action: "removeDatasetTag" }, async (em, dataset) => {
    await versionOf(em, dataset, label);
    return null;
  });
}

/** Protects a tag or removes its protection; a tag may be protected before it exists. Needs the scope `publish`. */
export async function setDatasetTagProtection(
  context: Context,
  { slug, input }: SetDatasetTagProtectionInput,
): Promise<string[]> {
  authorize(context, "publish");
  refuseLatest(input.tag);
  return withDataset(context, slug, async (em, dataset) => {
    const before = { ...input, protected: dataset.protectedTags.includes(input.tag) };
    const others = dataset.protectedTags.filter((label) => label !== input.tag);
    if (input.protected) refuseMoreTags(others.length, "protected tags", "dataset");
    dataset.protectedTags = input.protected ? [...others, input.tag].toSorted() : others;
    recordChange(em, context, { action: "setDatasetTagProtection", subject: slug, before, after: input });
    return dataset.protectedTags;
  });
}

interface TagChange {
  slug: string;
  label: string;
  action: string;
}

/** Changes a tag to the version that `choose` returns, or removes it, and records that in the audit log. */
async function changeTag(
  context: Context,
  { slug, label, action }: TagChange,
  choose: (em: EntityManager, dataset: Dataset) => Promise<number | null>,
): Promise<DatasetTagState> {
  refuseLatest(label);
  return withDataset(context, slug, async (em, dataset) => {
    if (dataset.protectedTags.includes(label)) authorize(context, "publish");
    const version = await choose(em, dataset);
    const tag = await em.findOne(DatasetTag, { dataset, label });
    const from = tag?.version ?? null;
    const id = tag?.id ?? newId();
    const { workspaceId: workspace } = authenticated(context);
    if (version === null) em.remove(tag ?? []);
    else if (tag) tag.version = version;
    else {
      refuseMoreTags(await em.count(DatasetTag, { dataset }), "tags", "dataset");
      em.create(DatasetTag, { id, workspace, dataset, label, version, createdAt: new Date() });
    }
    if (from !== version) {
      const [before, after] = [{ [label]: from }, { [label]: version }];
      recordChange(em, context, { action, subject: slug, before, after });
    }
    return { id, label, version, slug };
  });
}

/**
 * Locks the dataset, so that neither its version nor its tags change before the commit. It is updated for that: a request with an
 * `Idempotency-Key` that waits for a mere lock on PostgreSQL goes on with the tags from before, and two tags that take each other's
 * version at once would swap.
 */
function withDataset<T>(
  context: Context,
  slug: string,
  run: (em: EntityManager, dataset: Dataset) => Promise<T>,
): Promise<T> {
  const locked = async (em: EntityManager) => {
    await em.nativeUpdate(Dataset, { slug }, { slug });
    return run(em, await getDatasetEntity(em, slug, LockMode.PESSIMISTIC_WRITE));
  };
  return inTransaction(context.em, locked, "locked rows");
}

async function versionOf(em: EntityManager, dataset: Dataset, label: string): Promise<number> {
  if (label === LATEST) return dataset.version;
  const tag = await em.findOne(DatasetTag, { dataset, label });
  if (!tag) throw datasetTagNotFound(dataset.slug, label);
  return tag.version;
}

function refuseLatest(label: string): void {
  if (label !== LATEST) return;
  const message = `The tag "${LATEST}" names the newest version by itself; it cannot be moved.`;
  throw new GabbroError("FORBIDDEN", message);
}
