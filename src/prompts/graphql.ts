import { argumentsOf, builder, cacheable } from "../graphql/builder.ts";
import type { Variable } from "./entities.ts";
import { describePromptInput } from "./inputs.ts";
import { availableVersionsOf, describePrompt, type PromptDescription, variablesOf } from "./resolvers.ts";

const PromptStatus = builder.enumType("PromptStatus", {
  description: "Whether a prompt is in use.",
  values: {
    live: { description: "A version has the tag `production`." },
    draft: { description: "No version has the tag `production` yet." },
  } as const,
});

export const PromptVariable = builder.objectRef<Variable>("PromptVariable").implement({
  description: "A variable of a prompt's text, to be filled in on use.",
  fields: (t) => ({
    label: t.exposeString("label", { description: "The name by which the text refers to it." }),
    type: t.exposeString("type", {
      description: "What it holds, in words of the prompt's author; `string` by default.",
    }),
    description: t.exposeString("description", { nullable: true, description: "What it is for." }),
  }),
});

export const Prompt = builder.objectRef<PromptDescription>("Prompt").implement({
  description: "A prompt, as one of its versions shows it.",
  fields: (t) => ({
    slug: t.exposeString("slug", { description: "The slug, unique in the workspace." }),
    name: t.exposeString("name", { description: "The name to show." }),
    status: t.field({
      type: PromptStatus,
      description: "Whether it is in use.",
      resolve: ({ status }) => status,
    }),
    description: t.exposeString("description", { nullable: true, description: "What the prompt is for." }),
    availableVersions: t.stringList({
      description: "All its versions, the oldest first.",
      resolve: (prompt, _, context) => availableVersionsOf(context, prompt),
    }),
    availableTags: t.exposeStringList("availableTags", {
      description: "All its tags by name. `latest` is among them and follows the newest version by itself.",
    }),
    variables: t.field({
      type: [PromptVariable],
      description: "The variables of the version shown.",
      resolve: (prompt, _, context) => variablesOf(context, prompt),
    }),
    version: t.exposeString("version", {
      nullable: true,
      description:
        "The version shown; null when the prompt has none, or when a log's prompt had none that served.",
    }),
    tag: t.exposeString("tag", {
      nullable: true,
      description: "The tag by which the version was found; null when it was asked for by its own name.",
    }),
    warning: t.exposeString("warning", {
      nullable: true,
      description: "Says when another version is shown than the one asked for; null otherwise.",
    }),
  }),
});

builder.queryField("describePrompt", (t) =>
  t.field({
    ...cacheable,
    type: Prompt,
    nullable: true,
    description:
      "Describes a prompt by the version asked for, else its production version, else its newest; an error `PROMPT_NOT_FOUND` when there is no such prompt.",
    args: argumentsOf(t, describePromptInput),
    resolve: (_, args, context) => describePrompt(context, args),
  }),
);
