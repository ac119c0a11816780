import { argumentsOf, builder } from "../graphql/builder.ts";
import { createPrompt, createPromptVersion, updatePrompt } from "./authoring.resolvers.ts";
import { Prompt } from "./graphql.ts";
import {
  createPromptInput,
  createPromptVersionInput,
  describePromptInput,
  promptModel,
  promptTagInput,
  promptVariable,
  promptVersionInput,
  publishPromptInput,
  setTagProtectionInput,
  updatePromptInput,
} from "./inputs.ts";
import { deletePrompt } from "./removal.resolvers.ts";
import {
  publishPrompt,
  removePromptTag,
  rollbackPromptTag,
  setTagProtection,
  type TagState,
} from "./tags.resolvers.ts";
import { PromptVersion } from "./versions.graphql.ts";

const model = promptModel.shape;
const PromptModelInput = builder.inputType("PromptModelInput", {
  description: "The model that a prompt version is written for.",
  fields: (t) => ({
    provider: t.string({ description: model.provider.description }),
    client: t.string({ description: model.client.description }),
    model: t.string({ required: true, description: model.model.description }),
    version: t.string({ description: model.version.description }),
    parameters: t.field({ type: "JSONObject", description: model.parameters.description }),
  }),
});

const variable = promptVariable.shape;
const PromptVariableInput = builder.inputType("PromptVariableInput", {
  description: "A variable of a prompt's text.",
  fields: (t) => ({
    label: t.string({ required: true, description: variable.label.description }),
    type: t.string({ description: variable.type.description }),
    description: t.string({ description: variable.description.description }),
  }),
});

const version = promptVersionInput.shape;
const PromptVersionInput = builder.inputType("PromptVersionInput", {
  description: "A version to add to a prompt.",
  fields: (t) => ({
    version: t.string({ required: true, description: version.version.description }),
    text: t.string({ required: true, description: version.text.description }),
    systemText: t.string({ description: version.systemText.description }),
    model: t.field({ type: PromptModelInput, description: version.model.description }),
    variables: t.field({ type: [PromptVariableInput], description: version.variables.description }),
  }),
});

const CreatePromptVersionPayload = builder
  .objectRef<Awaited<ReturnType<typeof createPromptVersion>>>("CreatePromptVersionPayload")
  .implement({
    description: "The version that was made.",
    fields: (t) => ({
      promptVersion: t.expose("promptVersion", {
        type: PromptVersion,
        description: "The version as it was stored.",
      }),
      warning: t.exposeString("warning", {
        nullable: true,
        description:
          "Names variables that are declared but not used, or used but not declared; null for none.",
      }),
    }),
  });

const TagStateType = builder.objectRef<TagState>("PromptTagState").implement({
  description: "A tag after a change.",
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id of the tag." }),
    label: t.exposeString("label", { description: "Its name." }),
    version: t.exposeString("version", {
      nullable: true,
      description: "The version that it points to; null when it was removed.",
    }),
  }),
});

builder.mutationFields((t) => ({
  createPrompt: t.field({
    type: Prompt,
    description:
      "Makes a prompt, without a version yet; an error `CONFLICT` when the slug is taken. Needs `read` and `write`.",
    args: argumentsOf(t, createPromptInput),
    resolve: (_, args, context) => createPrompt(context, args),
  }),
  updatePrompt: t.field({
    type: Prompt,
    description:
      "Changes the name, the description or the feature of a prompt, but no version. Needs `read` and `write`.",
    args: argumentsOf(t, updatePromptInput),
    resolve: (_, args, context) => updatePrompt(context, args),
  }),
  deletePrompt: t.string({
    description: "Removes a prompt with its versions and tags, and returns its slug. Its logs stay readable.",
    args: argumentsOf(t, describePromptInput.pick({ slug: true })),
    resolve: (_, args, context) => deletePrompt(context, args),
  }),
  createPromptVersion: t.field({
    type: CreatePromptVersionPayload,
    description:
      "Adds a version to a prompt, the newest from then on; an error `CONFLICT` when its name is taken.",
    args: argumentsOf(t, createPromptVersionInput, {
      input: t.arg({ type: PromptVersionInput, required: true, description: "The version to add." }),
    }),
    resolve: (_, args, context) => createPromptVersion(context, args),
  }),
}));

builder.mutationFields((t) => ({
  publishPrompt: t.field({
    type: TagStateType,
    description: "Points a tag to a version, and makes the tag when there is none of that name.",
    args: argumentsOf(t, publishPromptInput),
    resolve: (_, args, context) => publishPrompt(context, args),
  }),
  removePromptTag: t.field({
    type: TagStateType,
    description: "Removes a tag; an error `TAG_NOT_FOUND` when there is none of that name.",
    args: argumentsOf(t, promptTagInput),
    resolve: (_, args, context) => removePromptTag(context, args),
  }),
  rollbackPromptTag: t.field({
    type: TagStateType,
    description: "Points a tag back to where it pointed before its last move.",
    args: argumentsOf(t, promptTagInput),
    resolve: (_, args, context) => rollbackPromptTag(context, args),
  }),
  setTagProtection: t.stringList({
    description:
      "Protects a tag or removes its protection, and returns the protected tags. Needs the scope `publish`.",
    args: argumentsOf(t, setTagProtectionInput),
    resolve: (_, args, context) => setTagProtection(context, args),
  }),
}));
