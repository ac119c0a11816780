import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { refuseMoreTags } from "../database/labels.ts";
import type { EntityManager } from "../database/open.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { getPrompt } from "./authoring.resolvers.ts";
import { changePrompt, type RecordChange } from "./changes.resolvers.ts";
import { Prompt, PromptTag, PromptTagMove, PromptVersion } from "./entities.ts";
import type { PromptTagInput, PublishPromptInput, SetTagProtectionInput } from "./inputs.ts";
import { LATEST } from "./selection.ts";

/** A tag after a change; `version` is null when the tag was removed. */
export interface TagState {
  id: string;
  label: string;
  version: string | null;
  /** The slug of the prompt. */
  slug: string;
}

/**
 * Points a tag to a version, given by name or by another tag; creates the tag when the prompt has none of that name.
 * NOT_FOUND for a missing version or tag, FORBIDDEN for `latest` and for protected tags.
 */
export async function publishPrompt(context: Context, input: PublishPromptInput): Promise<TagState> {
  authorize(context, "write");
  return changeTags(context, input.slug, async (em, prompt, record) => {
    const to = await getVersion(em, prompt, input);
    return moveTag(em, context, { action: "publishPrompt", prompt, label: input.newTag, to, record });
  });
}

/** Removes a tag; TAG_NOT_FOUND when the prompt has none of that name. */
export async function removePromptTag(
  context: Context,
  { slug, input: { tag } }: PromptTagInput,
): Promise<TagState> {
  authorize(context, "write");
  return changeTags(context, slug, async (em, prompt, record) => {
    if (tag !== LATEST && !(await em.findOne(PromptTag, { prompt, label: tag })))
      throw tagNotFound(prompt, tag);
    return moveTag(em, context, { action: "removePromptTag", prompt, label: tag, to: null, record });
  });
}

/** Points a tag to the version before its last move; CONFLICT when it never moved. */
export async function rollbackPromptTag(
  context: Context,
  { slug, input: { tag } }: PromptTagInput,
): Promise<TagState> {
  authorize(context, "write");
  return changeTags(context, slug, async (em, prompt, record) => {
    const last = await em.findOne(PromptTagMove, { prompt, label: tag }, { orderBy: { id: "desc" } });
    if (!last && tag !== LATEST) {
      throw new GabbroError("CONFLICT", `The tag ${quoted(tag)} of prompt ${quoted(slug)} was never moved.`);
    }
    const to = last?.from ? await getVersion(em, prompt, { version: last.from }) : null;
    return moveTag(em, context, { action: "rollbackPromptTag", prompt, label: tag, to, record });
  });
}

/** Protects a tag or removes its protection; a tag may be protected before it exists. Needs the scope `publish`. */
export async function setTagProtection(
  context: Context,
  { slug, input }: SetTagProtectionInput,
): Promise<string[]> {
  authorize(context, "publish");
  return changeTags(context, slug, async (_, prompt, record) => {
    refuseLatest(input.tag);
    const before = { ...input, protected: prompt.protectedTags.includes(input.tag) };
    const others = prompt.protectedTags.filter((label) => label !== input.tag);
    if (input.protected) refuseMoreTags(others.length, "protected tags", "prompt");
    prompt.protectedTags = input.protected ? [...others, input.tag].toSorted() : others;
    record({ action: "setTagProtection", subject: slug, before, after: input });
    return prompt.protectedTags;
  });
}

/**
 * Changes the tags of a prompt one transaction after another: a tag may take the version of another one, which must not move
 * before the commit. Each transaction first updates the prompt without a change. A lock alone would not do: in the transaction
 * of a request with a key, PostgreSQL then reads the tags as they were before it waited; after an update it refuses.
 */
function changeTags<T>(
  context: Context,
  slug: string,
  run: (em: EntityManager, prompt: Prompt, record: RecordChange) => Promise<T>,
): Promise<T> {
  const transact = async (em: EntityManager, record: RecordChange) => {
    await em.nativeUpdate(Prompt, { slug }, { slug });
    return run(em, await getPrompt(em, slug), record);
  };
  return changePrompt(context, transact, "locked rows");
}

interface Move {
  action: string;
  prompt: Prompt;
  label: string;
  to: NamedVersion | null;
  record: RecordChange;
}

/** Moves a tag and records the move in the history and the audit log. Every move goes through here, so that it is authorized. */
async function moveTag(
  em: EntityManager,
  context: Context,
  { action, prompt, label, to, record }: Move,
): Promise<TagState> {
  refuseLatest(label);
  if (prompt.protectedTags.includes(label)) authorize(context, "publish");
  const tag = await em.findOne(PromptTag, { prompt, label });
  const from = (await taggedVersion(em, prompt, label))?.version ?? null;
  const { workspaceId: workspace, tokenName } = authenticated(context);
  const createdAt = new Date();
  const id = tag?.id ?? newId();
  if (to && !tag) refuseMoreTags(await em.count(PromptTag, { prompt }), "tags", "prompt");
  if (!to) em.remove(tag ?? []);
  else if (tag) tag.version = em.getReference(PromptVersion, to.id, { wrapped: true });
  else em.create(PromptTag, { id, workspace, prompt, label, version: to.id, createdAt });
  const version = to?.version ?? null;
  if (from !== version) {
    const last = await em.findOne(PromptTagMove, { prompt }, { orderBy: { id: "desc" }, fields: ["id"] });
    em.create(PromptTagMove, {
      id: newId(last?.id),
      workspace,
      prompt,
      label,
      from,
      to: version,
      tokenName,
      createdAt,
    });
    record(
      { action, subject: prompt.slug, before: { [label]: from }, after: { [label]: version } },
      { tag: label, version },
    );
  }
  return { id, label, version, slug: prompt.slug };
}

function refuseLatest(label: string): void {
  if (label !== LATEST) return;
  throw new GabbroError(
    "FORBIDDEN",
    `The tag "${LATEST}" follows the newest version by itself; it cannot be moved.`,
  );
}

/** Whose texts are not read. */
type NamedVersion = Pick<PromptVersion, "id" | "version">;

async function getVersion(
  em: EntityManager,
  prompt: Prompt,
  { version, tag }: { version?: string | null | undefined; tag?: string | null | undefined },
): Promise<NamedVersion> {
  if (!version && !tag) throw badInput([{ path: "version", message: "is required, or else tag" }]);
  if (version) {
    const match = await em.findOne(PromptVersion, { prompt, version }, { fields: ["version"] });
    if (match) return match;
    throw new GabbroError(
      "VERSION_NOT_FOUND",
      `Prompt ${quoted(prompt.slug)} has no version ${quoted(version)}.`,
    );
  }
  const label = tag as string;
  const target =
    label === LATEST
      ? await em.findOne(PromptVersion, { prompt }, { orderBy: { id: "desc" }, fields: ["version"] })
      : await taggedVersion(em, prompt, label);
  if (!target) throw tagNotFound(prompt, label);
  return target;
}

async function taggedVersion(em: EntityManager, prompt: Prompt, label: string): Promise<NamedVersion | null> {
  const tag = await em.findOne(PromptTag, { prompt, label });
  return tag && em.findOneOrFail(PromptVersion, { id: tag.version.id }, { fields: ["version"] });
}

function tagNotFound({ slug }: Prompt, label: string): GabbroError {
  return new GabbroError("TAG_NOT_FOUND", `Prompt ${quoted(slug)} has no tag ${quoted(label)}.`);
}
