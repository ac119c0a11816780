import type { Context } from "../context.ts";
import { type Condition, combinationsOf, isOneOf } from "../database/conditions.ts";
import { fillPage, inPage, type Page } from "../database/pages.ts";
import { createPauses } from "../database/pauses.ts";
import { DELETED_SLUGS } from "../database/softDeleted.ts";
import { GabbroError, quoted } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import type { Combined } from "../validation/filters.ts";
import { type Warning, warningText } from "../warnings.ts";
import { authorize } from "../workspaces/resolvers.ts";
import {
  detailsFor,
  findPrompt,
  getTexts,
  type PromptHead,
  promptColumns,
  versionRemoved,
} from "./cached.resolvers.ts";
import type { Model } from "./entities.ts";
import type { PromptFilter } from "./filter.inputs.ts";
import type { DescribePromptInput, PromptDiffInput, PromptsInput } from "./inputs.ts";
import { joinedWarnings, type Message } from "./messages.ts";
import {
  describe,
  loadSelectables,
  type PromptDescription,
  promptNotFound,
  withinBudget,
} from "./resolvers.ts";
import { selectVersion, selectVersionToDescribe } from "./selection.ts";

export type PromptsPage = Page &
  Pick<PromptsInput, "featureSlug" | "search"> & { filter?: Conditions | null | undefined };

/** Like `prompts`, each described by its production version, else its newest. */
export async function describePrompts(context: Context, page: PromptsPage): Promise<PromptDescription[]> {
  const selectables = await loadSelectables(context, await prompts(context, page));
  return selectables.map((prompt) => describe(prompt, selectVersionToDescribe(prompt, {})));
}

/** A page of the prompts, in the order of their slugs. */
export async function prompts(
  context: Context,
  { featureSlug, search, filter, ...page }: PromptsPage,
): Promise<PromptHead[]> {
  const workspaceId = authorize(context, "read");
  const { database } = context;
  const inWorkspace = database.read
    .selectFrom("Prompt")
    .where("workspace", "=", workspaceId)
    .where("deletedAt", "is", null)
    .where("slug", "<", DELETED_SLUGS); // 80,000 deleted ones behind the last living one took 0.3 s to read
  let query = inPage(inWorkspace, "slug", page);
  if (featureSlug) query = query.where("featureSlug", "=", featureSlug);
  for (const condition of conditionsOf(filter ?? {})) query = query.where(condition);
  if (search)
    query = query.where(({ or, ref }) =>
      or(
        [ref("slug"), ref("name"), ref("description")].map((column) =>
          database.search.contains(column, search),
        ),
      ),
    );
  if (!search && !filter) return withinBudget(context, await query.select(promptColumns).execute());
  // Either may read all prompts and match none: 20,000 with long descriptions took 0.4 s.
  const ids = await database.search.findIds(workspaceId, query.select("id as id"));
  if (ids.length === 0) return [];
  const heads = inWorkspace.where("id", "in", ids).orderBy("slug", page.inverted ? "desc" : "asc");
  const entries = withinBudget(context, await heads.select(promptColumns).execute());
  return fillPage(page, { found: ids.length, entries }, (rest) =>
    prompts(context, { featureSlug, search, filter, ...rest }),
  );
}

type Conditions = Combined<Pick<Partial<PromptFilter>, "slug" | "featureSlug">>;

function conditionsOf(filter: Conditions): Condition<"Prompt">[] {
  const flat = ({ slug, featureSlug }: Pick<Conditions, "slug" | "featureSlug">) =>
    Object.entries({ slug, featureSlug }).flatMap(([column, values]): Condition<"Prompt">[] =>
      values == null ? [] : [isOneOf(({ ref }) => ref(column as "slug"), values)],
    );
  return [...flat(filter), ...combinationsOf(filter, flat)];
}

/** A prompt as an application uses it: the texts and the model of the version that serves. */
export interface ServedPrompt {
  slug: string;
  text: string;
  systemText: string | null;
  messages: Message[] | null;
  version: string;
  versionId: string;
  prompt: PromptHead;
  tag: string | null;
  model: Model | null;
  warnings: Warning[];
}

/**
 * The version that serves: the requested one, else the production version. VERSION_NOT_FOUND when there is neither: an
 * application must not get a draft that it did not request.
 */
export async function servedPrompt(context: Context, input: DescribePromptInput): Promise<ServedPrompt> {
  const workspaceId = authorize(context, "read");
  const { slug } = input;
  const prompt = await findPrompt(context, workspaceId, slug);
  if (!prompt) throw promptNotFound(slug);
  const { version, tag, warnings } = selectVersion(prompt, input);
  if (!version) {
    const message = `${warningText(warnings)} Publish one, or ask for another.`;
    throw new GabbroError("VERSION_NOT_FOUND", message);
  }
  const [texts, details] = await Promise.all([
    getTexts(context, version.id),
    detailsFor(context, version.id),
  ]);
  return {
    ...texts,
    model: details?.model ?? null,
    version: version.version,
    versionId: version.id,
    prompt,
    slug,
    tag,
    warnings: [...warnings, ...joinedWarnings(texts)],
  };
}

/** What differs between two versions of a prompt, as a unified diff; empty when nothing does. */
export async function promptDiff(context: Context, { slug, from, to }: PromptDiffInput): Promise<string> {
  const workspaceId = authorize(context, "read");
  const prompt = await findPrompt(context, workspaceId, slug);
  if (!prompt) throw promptNotFound(slug);
  const pause = createPauses(context, workspaceId);
  const idOf = (name: string) => {
    const version = prompt.versions.find((one) => one.version === name);
    if (version) return version.id;
    throw new GabbroError("VERSION_NOT_FOUND", `Prompt ${quoted(slug)} has no version ${quoted(name)}.`);
  };
  const [beforeId, afterId] = [idOf(from), idOf(to)]; // the error names the first of two missing versions
  if (beforeId === afterId) return "";
  const getVersion = async (id: string, version: string) => {
    await pause.take(); // requests, and aliases, come to it in one turn, and a version may have 9 MB
    const [texts, details] = await Promise.all([getTexts(context, id), detailsFor(context, id)]);
    if (!details) throw versionRemoved();
    return { version, ...texts, ...details };
  };
  const before = await getVersion(beforeId, from);
  const after = await getVersion(afterId, to);
  const { diffVersions } = await import("./diff.ts"); // seldom needed
  let diff = "";
  await pause.take();
  const spend = (bytes: number) => spendAnswerBytes(context, bytes);
  for (const part of diffVersions(before, after, spend)) {
    diff += part ?? "";
    spend(part?.length ?? 0);
    if (part !== undefined || pause.isDue()) await pause.take();
  }
  return diff;
}
