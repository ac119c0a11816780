import type { Context } from "../context.ts";
import { batched } from "../database/batch.ts";
import type { EntityManager } from "../database/open.ts";
import { contains } from "../database/text.ts";
import { GabbroError, quoted } from "../errors.ts";
import { atCursor, PAGE } from "../paging.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { type Model, Prompt, PromptTag, PromptTagMove, PromptVersion } from "./entities.ts";
import type { DescribePromptInput, PromptDiffInput, PromptsInput, RenderPromptInput } from "./inputs.ts";
import { knownPrompt, textsOf } from "./known.resolvers.ts";
import { describe, type PromptDescription, promptNotFound, withVersions } from "./resolvers.ts";
import { selectVersion, selectVersionToDescribe } from "./selection.ts";
import { compareVariables, parseTemplate, renderTemplate } from "./templates.ts";

/** A page of the prompts, in the order of their slugs, each described by its production version, else its newest. */
export async function prompts(context: Context, input: PromptsInput): Promise<PromptDescription[]> {
  const { after } = input;
  authorize(context, "read");
  if (after != null) atCursor(await context.em.count(Prompt, { slug: after }), "slug of a prompt");
  return promptsAfter(context, input);
}

/** The same after any slug, also of one that was deleted since it was read. */
export async function promptsAfter(context: Context, input: PromptsInput): Promise<PromptDescription[]> {
  const workspaceId = authorize(context, "read");
  const { featureSlug, search, after } = input;
  let query = context.database.read
    .selectFrom("Prompt")
    .select(["id", "slug", "name", "description"])
    .where("workspace", "=", workspaceId);
  if (featureSlug) query = query.where("featureSlug", "=", featureSlug);
  if (search)
    query = query.where(({ or, ref }) =>
      or([ref("slug"), ref("name"), ref("description")].map((column) => contains(column, search))),
    );
  if (after) query = query.where("slug", ">", after);
  const found = await query
    .orderBy("slug")
    .limit(input.first ?? PAGE)
    .execute();
  const known = await withVersions(context, workspaceId, found);
  return Promise.all(known.map((prompt) => describe(context, prompt, selectVersionToDescribe(prompt, {}))));
}

/** A prompt as an application uses it: the texts and the model of the version that serves. */
export interface ServedPrompt {
  slug: string;
  text: string;
  systemText: string | null;
  version: string;
  tag: string | null;
  model: Model | null;
  warning: string | null;
}

/**
 * The version that serves: the one asked for, else the production version. VERSION_NOT_FOUND when there is neither, as
 * an application must not be given a draft that it did not ask for.
 */
export async function servedPrompt(context: Context, input: DescribePromptInput): Promise<ServedPrompt> {
  const workspaceId = authorize(context, "read");
  const { slug } = input;
  const prompt = await knownPrompt(context.database, workspaceId, slug);
  if (!prompt) throw promptNotFound(slug);
  const { version, tag, warning } = selectVersion(prompt, input);
  if (!version) throw new GabbroError("VERSION_NOT_FOUND", `${warning} Publish one, or ask for another.`);
  const texts = await textsOf(context.database, workspaceId, version.id);
  return { ...texts, model: version.model, version: version.version, slug, tag, warning };
}

/** The served version with its variables filled in; the warning names variables without a value and unused values. */
export async function renderPrompt(context: Context, input: RenderPromptInput): Promise<ServedPrompt> {
  const served = await servedPrompt(context, input);
  const values = Object.fromEntries((input.variables ?? []).map(({ label, value }) => [label, value ?? ""]));
  const [text, systemText] = await Promise.all([
    renderTemplate(served.text, values),
    served.systemText === null ? null : renderTemplate(served.systemText, values),
  ]);
  const used = new Set([
    ...parseTemplate(served.text, "text"),
    ...parseTemplate(served.systemText ?? "", "systemText"),
  ]);
  const compared = compareVariables([...used], values);
  const warning = [served.warning, compared].filter(Boolean).join(" ") || null;
  return { ...served, text, systemText, warning };
}

/** What differs between two versions of a prompt, as a unified diff; empty when nothing does. */
export async function promptDiff(context: Context, { slug, from, to }: PromptDiffInput): Promise<string> {
  const workspaceId = authorize(context, "read");
  const prompt = await knownPrompt(context.database, workspaceId, slug);
  if (!prompt) throw promptNotFound(slug);
  const [before, after] = await Promise.all(
    [from, to].map(async (name) => {
      const version = await context.em.findOne(PromptVersion, { prompt: prompt.id, version: name });
      if (version) return version;
      throw new GabbroError("VERSION_NOT_FOUND", `Prompt ${quoted(slug)} has no version ${quoted(name)}.`);
    }),
  );
  const { diffVersions } = await import("./diff.ts"); // seldom needed
  return diffVersions(before!, after!);
}

/** Loads what belongs to prompts for many of them at once, afresh each time: a mutation before may have changed it. */
function ofPrompts<Part extends { prompt: { id: string } }>(
  find: (em: EntityManager, where: { prompt: { $in: string[] } }) => Promise<Part[]>,
): (context: Context, promptId: string) => Promise<Part[]> {
  return batched(async (context, ids) => {
    authorize(context, "read");
    const parts = await find(context.em.fork({ keepTransactionContext: true }), { prompt: { $in: ids } });
    const byPrompt = Map.groupBy(parts, ({ prompt }) => prompt.id);
    return ids.map((id) => byPrompt.get(id) ?? []);
  });
}

/** All versions of a prompt, the oldest first. */
export const versionsOf = ofPrompts((em, where) => em.find(PromptVersion, where, { orderBy: { id: "asc" } }));

/** The tags that are kept for a prompt, by name; `latest` is none of them. */
export const tagsOf = ofPrompts((em, where) =>
  em.find(PromptTag, where, { populate: ["version"], orderBy: { label: "asc" } }),
);

/** Who moved which tag of a prompt when, the latest move first. */
export const tagHistoryOf = ofPrompts((em, where) =>
  em.find(PromptTagMove, where, { orderBy: { id: "desc" } }),
);
