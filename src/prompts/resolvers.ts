import type { Context } from "../context.ts";
import { batched } from "../database/batch.ts";
import { GabbroError, quoted } from "../errors.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import type { Model, Prompt, Variable } from "./entities.ts";
import type { DescribePromptInput } from "./inputs.ts";
import {
  availableTags,
  PRODUCTION,
  type Selectable,
  type Selection,
  selectVersionToDescribe,
} from "./selection.ts";

/** A prompt as one of its versions shows it. */
export interface PromptDescription {
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
  const workspaceId = authorize(context, "read");
  const prompt = await findPrompt(context, workspaceId, input.slug);
  if (!prompt) throw new GabbroError("PROMPT_NOT_FOUND", `Prompt ${quoted(input.slug)} does not exist.`);
  return describe(context, prompt, selectVersionToDescribe(prompt, input));
}

export type KnownPrompt = Selectable & Pick<Prompt, "id" | "name" | "description">;

/** The prompt with that slug, with what choosing one of its versions needs. */
export async function findPrompt(
  context: Context,
  workspaceId: string,
  slug: string,
): Promise<KnownPrompt | null> {
  const [prompt] = await context.database.read
    .selectFrom("Prompt")
    .select(["id", "slug", "name", "description"])
    .where("workspace", "=", workspaceId)
    .where("slug", "=", slug)
    .execute();
  return prompt ? ((await withVersions(context, workspaceId, [prompt]))[0] ?? null) : null;
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

const promptById: (context: Context, id: string) => Promise<KnownPrompt | null> = batched(
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

async function withVersions(
  context: Context,
  workspaceId: string,
  prompts: PromptRow[],
): Promise<KnownPrompt[]> {
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

export interface VersionContent {
  variables: Variable[];
  model: Model | null;
}

/** What a version says beside its text: its variables and the model it is written for. */
export const versionContent: (context: Context, versionId: string) => Promise<VersionContent> = batched(
  async (context, ids) => {
    const versions = await context.database.read
      .selectFrom("PromptVersion")
      .select(["id", "variables", "model"])
      .where("workspace", "=", authenticated(context).workspaceId)
      .where("id", "in", ids)
      .execute();
    const byId = new Map(versions.map((version) => [version.id, version]));
    return ids.map((id) => byId.get(id) ?? { variables: [], model: null });
  },
);

async function describe(
  context: Context,
  prompt: KnownPrompt,
  selection: Selection,
): Promise<PromptDescription> {
  const content = selection.version ? await versionContent(context, selection.version.id) : undefined;
  return {
    slug: prompt.slug,
    name: prompt.name,
    status: prompt.tags.some(({ label }) => label === PRODUCTION) ? "live" : "draft",
    description: prompt.description,
    availableVersions: prompt.versions.map(({ version }) => version),
    availableTags: availableTags(prompt),
    variables: content?.variables ?? [],
    version: selection.version?.version ?? null,
    tag: selection.tag,
    warning: selection.warning,
  };
}
