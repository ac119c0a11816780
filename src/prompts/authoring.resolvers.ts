import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import type { EntityManager } from "../database/open.ts";
import { refuseDuplicates } from "../database/retry.ts";
import { inTransaction } from "../database/transaction.ts";
import { badInput, quoted } from "../errors.ts";
import { findVariables, type NamedTemplate } from "../templates/templates.ts";
import type { Warning } from "../warnings.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { PromptHead } from "./cached.resolvers.ts";
import { changePrompt } from "./changes.resolvers.ts";
import { Prompt, PromptVersion, type Variable, type VersionSource } from "./entities.ts";
import {
  type CreatePromptInput,
  type CreatePromptVersionInput,
  MAX_VARIABLES,
  MAX_VERSIONS,
  type UpdatePromptInput,
} from "./inputs.ts";
import { joinedWarnings, templatesOfMessages, textsOf } from "./messages.ts";
import { prompt, promptNotFound } from "./resolvers.ts";
import { LATEST } from "./selection.ts";
import { mergeVariables } from "./variables.ts";

/** Creates a prompt without versions; CONFLICT when the slug is taken. */
export async function createPrompt(context: Context, input: CreatePromptInput): Promise<PromptHead> {
  authorize(context, "read"); // before it writes, because it answers with the prompt
  const workspace = authorize(context, "write");
  const { slug } = input;
  const head = {
    slug,
    name: input.name ?? slug,
    description: input.description ?? null,
    featureSlug: input.featureSlug ?? null,
  };
  await refuseDuplicates(`A prompt with the slug ${quoted(slug)} exists already.`, () =>
    inTransaction(context.em, async (em) => {
      em.create(Prompt, { ...head, id: newId(), workspace, protectedTags: [], createdAt: new Date() });
      recordChange(em, context, { action: "createPrompt", subject: slug, before: null, after: head });
    }),
  );
  return prompt(context, { slug });
}

/** Changes the name, the description or the feature of a prompt; PROMPT_NOT_FOUND when the workspace has none. */
export async function updatePrompt(
  context: Context,
  { slug, input: { name, description, featureSlug } }: UpdatePromptInput,
): Promise<PromptHead> {
  authorize(context, "read"); // before it writes, because it answers with the prompt
  authorize(context, "write");
  await changePrompt(context, async (em, record) => {
    const entity = await getPrompt(em, slug);
    const before = headOf(entity);
    if (name) entity.name = name;
    if (description !== undefined) entity.description = description;
    if (featureSlug !== undefined) entity.featureSlug = featureSlug;
    record({ action: "updatePrompt", subject: slug, before, after: headOf(entity) });
  });
  return prompt(context, { slug });
}

/**
 * Adds a version to a prompt, which becomes its newest. Its variables are those that the input declares and those that
 * its Jinja texts use; warnings name those that are only declared or only used. CONFLICT when the prompt has a version
 * of that name.
 */
export async function createPromptVersion(
  context: Context,
  { slug, input }: CreatePromptVersionInput,
): Promise<{ promptVersion: PromptVersion; warnings: Warning[] }> {
  const workspace = authorize(context, "write");
  const names = await findVariables(workspace, templatesOf(input));
  const { content, warnings } = contentOf(input, names.flat());
  const conflict = `Prompt ${quoted(slug)} already has a version ${quoted(input.version)}. Versions never change; choose another name.`;
  const promptVersion = await refuseDuplicates(conflict, () =>
    changePrompt(context, async (em, record) => {
      const prompt = await getPrompt(em, slug);
      if ((await em.count(PromptVersion, { prompt })) >= MAX_VERSIONS) {
        const message = `cannot be added: a prompt has at most ${MAX_VERSIONS} versions. Go on with a new prompt`;
        throw badInput([{ path: "version", message }]);
      }
      record(
        { action: "createPromptVersion", subject: slug, before: null, after: content },
        { tag: LATEST, version: input.version },
      );
      const last = await em.findOne(PromptVersion, { prompt }, { orderBy: { id: "desc" }, fields: ["id"] });
      const version = { ...content, source: sourceOf(input), id: newId(last?.id), workspace, prompt };
      return em.create(PromptVersion, { ...version, createdAt: new Date() });
    }),
  );
  return { promptVersion, warnings };
}

type VersionInput = CreatePromptVersionInput["input"];

/** The templates of a version. */
export function templatesOf({ text, systemText, messages }: VersionInput): NamedTemplate[] {
  return [
    ...(text ? [{ path: "text", text }] : []),
    ...(systemText ? [{ path: "systemText", text: systemText }] : []),
    ...templatesOfMessages(messages ?? []),
  ];
}

/** The content to store for a version whose templates use the variables `names`. */
export function contentOf({ version, ...input }: VersionInput, names: string[]) {
  const declarations = input.variables?.map(({ label, type, description }) => ({
    label,
    type: type || "string",
    description: description ?? null,
  }));
  const { variables, warnings } = mergeVariables([...new Set(names)], declarations ?? null);
  refuseTooMany(variables);
  const model = input.model && {
    provider: input.model.provider ?? null,
    client: input.model.client ?? null,
    model: input.model.model,
    version: input.model.version ?? null,
    parameters: input.model.parameters ?? {},
  };
  const content = { version, ...textsFor(input), model: model ?? null, variables };
  return { content, warnings: [...warnings, ...joinedWarnings(content)] };
}

function sourceOf({ source }: VersionInput): VersionSource | null {
  return source
    ? { commit: source.commit, author: source.author ?? null, message: source.message ?? null }
    : null;
}

/** The texts and messages to store: where a text is missing, that of the messages. */
function textsFor({ text, systemText, messages }: Omit<VersionInput, "version">) {
  const ofMessages = textsOf(messages ?? []);
  return {
    text: text ?? ofMessages.text,
    systemText: systemText || (text == null ? ofMessages.systemText : null),
    messages: messages ?? null,
  };
}

/** Throws BAD_INPUT when a version would have too many variables, including those that its texts use. */
function refuseTooMany({ length: count }: Variable[]): void {
  if (count <= MAX_VARIABLES) return;
  const message = `would be ${count} with those that the texts use; a version has at most ${MAX_VARIABLES}`;
  throw badInput([{ path: "variables", message }]);
}

/** The entity of a prompt, for a transaction; PROMPT_NOT_FOUND when the workspace has none. */
export async function getPrompt(em: EntityManager, slug: string): Promise<Prompt> {
  const prompt = await em.findOne(Prompt, { slug });
  if (!prompt) throw promptNotFound(slug);
  return prompt;
}

/** The fields of a prompt itself, for the audit log. */
export function headOf({ slug, name, description, featureSlug }: Prompt) {
  return { slug, name, description, featureSlug };
}
