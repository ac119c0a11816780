import type { Context } from "../context.ts";
import { batched } from "../database/batch.ts";
import { GabbroError, quoted } from "../errors.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import type { Prompt, PromptVersion, Variable } from "./entities.ts";
import type { DescribePromptInput, VersionChoice } from "./inputs.ts";
import { knownPrompt } from "./known.resolvers.ts";
import {
  availableTags,
  PRODUCTION,
  type Selectable,
  type Selection,
  selectVersionToDescribe,
} from "./selection.ts";

/** A prompt as one of its versions shows it. */
export interface PromptDescription {
  id: string;
  slug: string;
  name: string;
  status: "live" | "draft";
  description: string | null;
  availableVersions: string[];
  availableTags: string[];
  variables: Variable[];
  version: string | null;
  tag: string | null;
  warning: string | null;
}

/** Describes a prompt by the version that was chosen or stands in; PROMPT_NOT_FOUND when the workspace has none. */
export async function describePrompt(
  context: Context,
  input: DescribePromptInput,
): Promise<PromptDescription> {
  return describeStored(context, authorize(context, "read"), input.slug, input);
}

/** Describes a prompt to whoever was authorized already, such as the one who just made it. */
export async function describeStored(
  context: Context,
  workspaceId: string,
  slug: string,
  choice: VersionChoice = {},
): Promise<PromptDescription> {
  const prompt = await knownPrompt(context.database, workspaceId, slug);
  if (!prompt) throw promptNotFound(slug);
  return describe(context, prompt, selectVersionToDescribe(prompt, choice));
}

export function promptNotFound(slug: string): GabbroError {
  return new GabbroError("PROMPT_NOT_FOUND", `Prompt ${quoted(slug)} does not exist.`);
}

/** The description of the prompt with that id as its version `version` shows it; null when it is gone. */
export async function describeVersion(
  context: Context,
  input: { promptId: string; version: string | null; tag: string | null },
): Promise<PromptDescription | null> {
  const prompt = await promptById(context, input.promptId);
  if (!prompt) return null;
  const version = prompt.versions.find((candidate) => candidate.version === input.version) ?? null;
  return describe(context, prompt, { version, tag: input.tag, warning: null });
}

const promptById: (context: Context, id: string) => Promise<DescribablePrompt | null> = batched(
  async (context, ids) => {
    const workspaceId = authorize(context, "read");
    const prompts = await context.database.read
      .selectFrom("Prompt")
      .select(["id", "slug", "name", "description"])
      .where("workspace", "=", workspaceId)
      .where("id", "in", ids)
      .execute();
    const byId = new Map(
      (await withVersions(context, workspaceId, prompts)).map((prompt) => [prompt.id, prompt]),
    );
    return ids.map((id) => byId.get(id) ?? null);
  },
);

type PromptRow = Pick<Prompt, "id" | "slug" | "name" | "description">;
/** A prompt with what choosing and describing a version needs; variables may still have to be read. */
type DescribablePrompt = Selectable<Pick<PromptVersion, "id" | "version"> & { variables?: Variable[] }> &
  PromptRow;

/** Adds to prompts what choosing one of their versions needs, in two statements for all of them. */
export async function withVersions(
  context: Context,
  workspaceId: string,
  prompts: PromptRow[],
): Promise<DescribablePrompt[]> {
  if (prompts.length === 0) return [];
  const ids = prompts.map(({ id }) => id);
  const [versions, tags] = await Promise.all([
    context.database.read
      .selectFrom("PromptVersion")
      .select(["id", "prompt", "version"])
      .where("workspace", "=", workspaceId)
      .where("prompt", "in", ids)
      .orderBy("id")
      .execute(),
    context.database.read
      .selectFrom("PromptTag")
      .select(["prompt", "label", "version as versionId"])
      .where("workspace", "=", workspaceId)
      .where("prompt", "in", ids)
      .execute(),
  ]);
  const versionsOf = Map.groupBy(versions, ({ prompt }) => prompt);
  const tagsOf = Map.groupBy(tags, ({ prompt }) => prompt);
  return prompts.map((prompt) => ({
    ...prompt,
    versions: versionsOf.get(prompt.id) ?? [],
    tags: tagsOf.get(prompt.id) ?? [],
  }));
}

/** The variables of a version. */
const variablesOf: (context: Context, versionId: string) => Promise<Variable[]> = batched(
  async (context, ids) => {
    const versions = await context.database.read
      .selectFrom("PromptVersion")
      .select(["id", "variables"])
      .where("workspace", "=", authenticated(context).workspaceId)
      .where("id", "in", ids)
      .execute();
    const byId = new Map(versions.map(({ id, variables }) => [id, variables]));
    return ids.map((id) => byId.get(id) ?? []);
  },
);

/** The description of a prompt as the selected version shows it. */
export async function describe(
  context: Context,
  prompt: DescribablePrompt,
  selection: Selection<DescribablePrompt["versions"][number]>,
): Promise<PromptDescription> {
  const { version } = selection;
  const variables = version ? (version.variables ?? (await variablesOf(context, version.id))) : [];
  return {
    id: prompt.id,
    slug: prompt.slug,
    name: prompt.name,
    status: prompt.tags.some(({ label }) => label === PRODUCTION) ? "live" : "draft",
    description: prompt.description,
    availableVersions: prompt.versions.map(({ version }) => version),
    availableTags: availableTags(prompt),
    variables,
    version: version?.version ?? null,
    tag: selection.tag,
    warning: selection.warning,
  };
}
