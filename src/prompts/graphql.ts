import { argumentsOf, builder, cacheable } from "../graphql/builder.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { warningField, warningsField } from "../graphql/payloads.ts";
import type { PromptHead } from "./cached.resolvers.ts";
import { describePromptInput } from "./inputs.ts";
import {
  availableTagsOf,
  availableVersionsOf,
  describePrompt,
  findPromptById,
  type PromptDescription,
  statusOf,
  variablesOf,
} from "./resolvers.ts";
import { PromptVariable, PromptVersion } from "./versions.graphql.ts";

const PromptStatus = builder.enumType("PromptStatus", {
  description: "Whether a prompt is in use.",
  values: {
    LIVE: { value: "live", description: "A version has the tag `production`." },
    DRAFT: { value: "draft", description: "No version has the tag `production` yet." },
  } as const,
});

export const Prompt = builder.objectRef<PromptHead>("Prompt").implement({
  description: "A prompt: texts for models, which change by new versions.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    slug: t.exposeString("slug", { description: "The slug, unique in the workspace." }),
    name: t.exposeString("name", { description: "The name to show." }),
    status: t.field({
      type: PromptStatus,
      description: "Whether it is in use.",
      resolve: (prompt, _, context) => statusOf(context, prompt),
    }),
    description: t.exposeString("description", { nullable: true, description: "What the prompt is for." }),
    featureSlug: t.exposeString("featureSlug", {
      nullable: true,
      description: "The feature of the application that it belongs to.",
    }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
    availableVersions: t.stringList({
      description: "The names of all its versions, the oldest first.",
      resolve: (prompt, _, context) => availableVersionsOf(context, prompt),
    }),
    availableTags: t.stringList({
      description: "All its tags by name. `latest` is among them and follows the newest version by itself.",
      resolve: (prompt, _, context) => availableTagsOf(context, prompt),
    }),
  }),
});

findsNode(Prompt, "read", { find: findPromptById });

const PromptDescriptionType = builder.objectRef<PromptDescription>("PromptDescription").implement({
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
      description: "The names of all its versions, the oldest first.",
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
      description: "The version shown; null when the prompt has none.",
    }),
    tag: t.exposeString("tag", {
      nullable: true,
      description: "The tag by which the version was found; null when it was asked for by its own name.",
    }),
    warning: warningField(t),
    warnings: warningsField(t),
    prompt: t.field({
      type: Prompt,
      description: "The prompt itself.",
      resolve: (description) => description,
    }),
    promptVersion: t.field({
      type: PromptVersion,
      nullable: true,
      description: "The version shown, with its texts; null when the prompt has none.",
      resolve: ({ versionId: id, version }) => (id === null ? null : { id, version: version! }),
    }),
  }),
});

builder.queryField("describePrompt", (t) =>
  t.field({
    ...cacheable,
    type: PromptDescriptionType,
    nullable: true,
    description:
      "Describes a prompt by the version asked for, else its production version, else its newest; an error `PROMPT_NOT_FOUND` when there is no such prompt.",
    args: argumentsOf(t, describePromptInput),
    resolve: (_, args, context) => describePrompt(context, args),
  }),
);
