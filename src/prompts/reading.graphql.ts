import { argumentsOf, builder, cacheable, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { warningsField } from "../graphql/payloads.ts";
import { Prompt } from "./graphql.ts";
import {
  describePromptInput,
  promptDiffInput,
  promptsInput,
  promptVariableValue,
  renderPromptInput,
} from "./inputs.ts";
import { promptDiff, prompts, renderPrompt, type ServedPrompt, servedPrompt } from "./reading.resolvers.ts";
import { prompt } from "./resolvers.ts";
import { PromptModel } from "./versions.graphql.ts";

const ServedPromptType = builder.objectRef<ServedPrompt>("ServedPrompt").implement({
  description: "A prompt as an application uses it: the texts and the model of the version that serves.",
  fields: (t) => ({
    slug: t.exposeString("slug", { description: "The slug of the prompt." }),
    text: t.exposeString("text", { description: "The text; filled in, when it was rendered." }),
    systemText: t.exposeString("systemText", {
      nullable: true,
      description: "The text for the system's role.",
    }),
    version: t.exposeString("version", { description: "The version that serves." }),
    tag: t.exposeString("tag", {
      nullable: true,
      description: "The tag by which the version was found; null when it was asked for by its own name.",
    }),
    model: t.field({
      type: PromptModel,
      nullable: true,
      description: "The model that the version is written for.",
      resolve: ({ model }) => model,
    }),
    warnings: warningsField(t),
  }),
});

const PromptVariableValue = inputTypeOf("PromptVariableValue", promptVariableValue);

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
    args: argumentsOf(t, promptsInput),
    resolve: (_, { search, featureSlug, ...args }, context) =>
      connect(args, {
        read: (page) => prompts(context, { search, featureSlug, ...page }),
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
    type: ServedPromptType,
    nullable: true,
    description:
      "Like `servedPrompt`, with the variables of its texts filled in. It gives the same errors: `PROMPT_NOT_FOUND` and `VERSION_NOT_FOUND`.",
    args: argumentsOf(t, renderPromptInput, { variables: [PromptVariableValue] }),
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
