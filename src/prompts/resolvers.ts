import type { Context } from "../context.ts";
import { createLoader } from "../database/loader.ts";
import { GabbroError, quoted } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { findDetails, findPrompt } from "./cached.resolvers.ts";
import type { Prompt, Variable } from "./entities.ts";
import type { DescribePromptInput, VersionChoice } from "./inputs.ts";
import {
  availableTags,
  type NamedVersion,
  PRODUCTION,
  type Selectable,
  type Selection,
  selectVersionToDescribe,
} from "./selection.ts";
import {
  contentColumn,
  newestVersionOf,
  productionVersionOf,
  tagsOf,
  versionNamed,
  versionsOf,
} from "./versions.resolvers.ts";

/** A prompt, described by one of its versions. */
export interface PromptDescription {
  id: string;
  slug: string;
  name: string;
  status: "live" | "draft";
  description: string | null;
  /** All its versions, the oldest first; absent where they were not read. */
  versions?: NamedVersion[];
  availableTags: string[];
  /** Those of the described version; absent where they were not read. */
  variables?: Variable[];
  /** The id of the described version. */
  versionId: string | null;
  version: string | null;
  tag: string | null;
  warning: string | null;
}

/** Describes a prompt by the requested version or the one that stands in for it; PROMPT_NOT_FOUND when the workspace has none. */
export async function describePrompt(
  context: Context,
  input: DescribePromptInput,
): Promise<PromptDescription> {
  return readDescription(context, authorize(context, "read"), input.slug, input);
}

/** Describes a prompt once the caller is authorized, for instance to create it. */
export async function readDescription(
  context: Context,
  workspaceId: string,
  slug: string,
  choice: VersionChoice = {},
): Promise<PromptDescription> {
  const prompt = await findPrompt(context, workspaceId, slug);
  if (!prompt) throw promptNotFound(slug);
  const description = describe(prompt, selectVersionToDescribe(prompt, choice));
  const { versionId } = description;
  const details = versionId === null ? null : await findDetails(context, versionId);
  return { ...description, versions: prompt.versions, variables: details?.variables ?? [] };
}

export function promptNotFound(slug: string): GabbroError {
  return new GabbroError("PROMPT_NOT_FOUND", `Prompt ${quoted(slug)} does not exist.`);
}

/** The names of all versions of a prompt, the oldest first. */
export function availableVersionsOf(
  context: Context,
  { id, versions }: PromptDescription,
): string[] | Promise<string[]> {
  const names = (all: NamedVersion[]) => all.map(({ version }) => version);
  return versions ? names(versions) : versionsOf(context, id).then(names);
}

const variablesOfVersion = contentColumn("variables");

/** The variables of the described version. */
export function variablesOf(
  context: Context,
  { versionId: id, version, variables }: PromptDescription,
): Variable[] | Promise<Variable[]> {
  if (variables) return variables;
  return id === null ? [] : variablesOfVersion({ id, version: version! }, {}, context);
}

/** Describes the prompt with that id by its version `version`; null when the prompt is gone. */
export async function describeVersion(
  context: Context,
  input: { promptId: string; version: string | null; tag: string | null },
): Promise<PromptDescription | null> {
  const [prompt, version] = await Promise.all([
    promptById(context, input.promptId),
    input.version === null ? null : versionNamed(context, `${input.promptId} ${input.version}`),
  ]);
  return prompt && describe(prompt, { version, tag: input.tag, warning: null });
}

const promptById: (context: Context, id: string) => Promise<(Selectable & PromptRow) | null> = createLoader(
  async (context, ids) => {
    const workspaceId = authorize(context, "read");
    const prompts = await context.database.read
      .selectFrom("Prompt")
      .select(["id", "slug", "name", "description"])
      .where("workspace", "=", workspaceId)
      .where("deletedAt", "is", null)
      .where("id", "in", ids)
      .execute();
    withinBudget(context, prompts);
    const byId = new Map((await loadSelectables(context, prompts)).map((prompt) => [prompt.id, prompt]));
    return ids.map((id) => byId.get(id) ?? null);
  },
);

type PromptRow = Pick<Prompt, "id" | "slug" | "name" | "description">;

const HEAD_BYTES = 500;

/** Subtracts prompts from the budget of the answer. Throws QUERY_TOO_COMPLEX when it is spent. */
export function withinBudget<Head extends PromptRow>(context: Context, heads: Head[]): Head[] {
  for (const { description } of heads) spendAnswerBytes(context, HEAD_BYTES + (description?.length ?? 0));
  return heads;
}

/** Adds what describing prompts needs: their tags, their newest and their production versions. */
export async function loadSelectables(
  context: Context,
  prompts: PromptRow[],
): Promise<(Selectable & PromptRow)[]> {
  return Promise.all(
    prompts.map(async (prompt) => {
      const [tags, newest, production] = await Promise.all([
        tagsOf(context, prompt.id),
        newestVersionOf(context, prompt.id),
        productionVersionOf(context, prompt.id),
      ]);
      const versions = production && production.id !== newest?.id ? [production] : [];
      return { ...prompt, versions: newest ? [...versions, newest] : versions, tags };
    }),
  );
}

/** Describes a prompt by the selected version. */
export function describe(prompt: Selectable & PromptRow, selection: Selection): PromptDescription {
  return {
    id: prompt.id,
    slug: prompt.slug,
    name: prompt.name,
    status: prompt.tags.some(({ label }) => label === PRODUCTION) ? "live" : "draft",
    description: prompt.description,
    availableTags: availableTags(prompt),
    versionId: selection.version?.id ?? null,
    version: selection.version?.version ?? null,
    tag: selection.tag,
    warning: selection.warning,
  };
}
