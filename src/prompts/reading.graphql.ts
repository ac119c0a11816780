import type { ObjectFieldBuilder } from "@pothos/core";
import { argumentsOf, builder, cacheable, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { warningsField } from "../graphql/payloads.ts";
import { promptFilter } from "./filter.inputs.ts";
import { Prompt } from "./graphql.ts";
import {
  describePromptInput,
  promptDiffInput,
  promptsInput,
  promptVariableValue,
  renderPromptInput,
} from "./inputs.ts";
import { ChatMessageType, PromptMessage } from "./messages.graphql.ts";
import { insertedMessage, placeholderValue } from "./messages.inputs.ts";
import { promptDiff, prompts, type ServedPrompt, servedPrompt } from "./reading.resolvers.ts";
import { type RenderedPrompt, renderPrompt } from "./render.resolvers.ts";
import { prompt } from "./resolvers.ts";
import { PromptModel, PromptVersion } from "./versions.graphql.ts";

type Served = Omit<ServedPrompt, "messages">;

/** The fields that a prompt has for applications, as stored and as rendered. */
const servedFields = <Parent extends Served>(
  t: ObjectFieldBuilder<typeof builder.$inferSchemaTypes, Parent>,
) => ({
  slug: t.string({ description: "The slug of the prompt.", resolve: ({ slug }) => slug }),
  version: t.string({ description: "The version that serves.", resolve: ({ version }) => version }),
  tag: t.string({
    nullable: true,
    description: "The tag by which the version was found; null when it was asked for by its own name.",
    resolve: ({ tag }) => tag,
  }),
  model: t.field({
    type: PromptModel,
    nullable: true,
    description: "The model that the version is written for.",
    resolve: ({ model }) => model,
  }),
  prompt: t.field({ type: Prompt, description: "The prompt itself.", resolve: ({ prompt }) => prompt }),
  promptVersion: t.field({
    type: PromptVersion,
    description: "The version that serves, as it is stored.",
    resolve: ({ versionId: id, version }) => ({ id, version }),
  }),
  warnings: warningsField(t),
});

const ServedPromptType = builder.objectRef<ServedPrompt>("ServedPrompt").implement({
  description: "A prompt as an application uses it: the texts and the model of the version that serves.",
  fields: (t) => ({
    ...servedFields(t),
    text: t.exposeString("text", { description: "The text, a Jinja template." }),
    systemText: t.exposeString("systemText", {
      nullable: true,
      description: "The text for the system's role, a Jinja template.",
    }),
    messages: t.field({
      type: [PromptMessage],
      nullable: true,
      description: "The messages of a chat, in order; null when the version has none.",
      resolve: ({ messages }) => messages,
    }),
  }),
});

const RenderedPromptType = builder.objectRef<RenderedPrompt>("RenderedPrompt").implement({
  description: "A prompt with its variables filled in and its placeholders replaced: what a model gets.",
  fields: (t) => ({
    ...servedFields(t),
    text: t.exposeString("text", { description: "The text, filled in." }),
    systemText: t.exposeString("systemText", {
      nullable: true,
      description: "The text for the system's role, filled in.",
    }),
    messages: t.field({
      type: [ChatMessageType],
      nullable: true,
      description: "The messages of a chat, in order; null when the version has none.",
      resolve: ({ messages }) => messages,
    }),
  }),
});

const PlaceholderValue = inputTypeOf("PlaceholderValue", placeholderValue, {
  messages: [inputTypeOf("ChatMessageInput", insertedMessage)],
});

const PromptFilter = inputTypeOf("PromptFilter", promptFilter, (self) => ({
  ...{ slug: ["String"], featureSlug: ["String"], and: [self], or: [self], not: self },
}));

builder.queryFields((t) => ({
  prompt: t.field({
    ...cacheable,
    type: Prompt,
    nullable: true,
    description: "The prompt with that slug; an error `PROMPT_NOT_FOUND` when there is none.",
    args: argumentsOf(t, describePromptInput.pick({ slug: true })),
    resolve: (_, args, context) => prompt(context, args),
  }),
  prompts: t.field({
    ...cacheable,
    type: connectionType(Prompt, "prompts"),
    description: "The prompts in the order of their slugs.",
    args: argumentsOf(t, promptsInput, { filter: PromptFilter }),
    resolve: (_, { search, featureSlug, filter, ...args }, context) =>
      connect(context, args, {
        read: (page) => prompts(context, { search, featureSlug, filter, ...page }),
        key: ({ slug }) => slug,
      }),
  }),
  servedPrompt: t.field({
    ...cacheable,
    type: ServedPromptType,
    nullable: true,
    description:
      "What an application gets of a prompt: the version asked for, else the production version; an error `PROMPT_NOT_FOUND` when there is no such prompt, `VERSION_NOT_FOUND` when there is neither.",
    args: argumentsOf(t, describePromptInput),
    resolve: (_, args, context) => servedPrompt(context, args),
  }),
  renderPrompt: t.field({
    type: RenderedPromptType,
    nullable: true,
    description:
      "The prompt that `servedPrompt` returns, with its variables filled in and its placeholders replaced. It gives the same errors: `PROMPT_NOT_FOUND` and `VERSION_NOT_FOUND`.",
    args: argumentsOf(t, renderPromptInput, {
      variables: [inputTypeOf("PromptVariableValue", promptVariableValue)],
      placeholders: [PlaceholderValue],
    }),
    resolve: (_, args, context) => renderPrompt(context, args),
  }),
  promptDiff: t.string({
    ...cacheable,
    description:
      "A unified diff of the texts, the model and the variables of two versions; empty when nothing differs. An error `PROMPT_NOT_FOUND` or `VERSION_NOT_FOUND` when there is no such prompt or version.",
    args: argumentsOf(t, promptDiffInput),
    resolve: (_, args, context) => promptDiff(context, args),
  }),
}));
