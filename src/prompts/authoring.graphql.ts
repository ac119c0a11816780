import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { deletionType, payloadType } from "../graphql/payloads.ts";
import { createPrompt, createPromptVersion, updatePrompt } from "./authoring.resolvers.ts";
import type { PromptHead } from "./cached.resolvers.ts";
import { Prompt } from "./graphql.ts";
import {
  createPromptArguments,
  createPromptInput,
  createPromptVersionInput,
  describePromptInput,
  promptModel,
  promptVariable,
  promptVersionInput,
  updatePromptInput,
  versionSource,
} from "./inputs.ts";
import { promptMessageShape } from "./messages.inputs.ts";
import { deletePrompt } from "./removal.resolvers.ts";
import { PromptVersion } from "./versions.graphql.ts";

const PromptVersionInput = inputTypeOf("PromptVersionInput", promptVersionInput, {
  model: inputTypeOf("PromptModelInput", promptModel, { parameters: "JSONObject" }),
  variables: [inputTypeOf("PromptVariableInput", promptVariable)],
  source: inputTypeOf("VersionSourceInput", versionSource),
  messages: [inputTypeOf("PromptMessageInput", promptMessageShape)],
});

const CreatePromptVersionPayload = payloadType<Awaited<ReturnType<typeof createPromptVersion>>>(
  "CreatePromptVersionPayload",
  {
    description: "The version that was made.",
    fields: (t) => ({
      promptVersion: t.expose("promptVersion", {
        type: PromptVersion,
        description: "The version as it was stored.",
      }),
    }),
  },
);

const promptPayload = (name: string, description: string) =>
  payloadType<{ prompt: PromptHead }>(name, {
    description,
    fields: (t) => ({
      prompt: t.expose("prompt", { type: Prompt, description: "The prompt as it is now." }),
    }),
  });

builder.mutationFields((t) => ({
  createPrompt: t.field({
    type: promptPayload("CreatePromptPayload", "The prompt that was made."),
    description:
      "Makes a prompt, without a version yet; an error `CONFLICT` when the slug is taken. Needs `read` and `write`.",
    args: argumentsOf(t, createPromptArguments, {
      input: inputTypeOf("CreatePromptInput", createPromptInput),
    }),
    resolve: async (_, { input }, context) => ({ prompt: await createPrompt(context, input) }),
  }),
  updatePrompt: t.field({
    type: promptPayload("UpdatePromptPayload", "The prompt that was changed."),
    description:
      "Changes the name, the description or the feature of a prompt, but no version; an error `PROMPT_NOT_FOUND` when there is none with that slug. Needs `read` and `write`.",
    args: argumentsOf(t, updatePromptInput, {
      input: inputTypeOf("UpdatePromptInput", updatePromptInput.shape.input),
    }),
    resolve: async (_, args, context) => ({ prompt: await updatePrompt(context, args) }),
  }),
  deletePrompt: t.field({
    type: deletionType("Prompt", "prompt"),
    description:
      "Removes a prompt with its versions and tags; an error `PROMPT_NOT_FOUND` when there is none with that slug. Its logs stay readable.",
    args: argumentsOf(t, describePromptInput.pick({ slug: true })),
    resolve: async (_, args, context) => ({ id: await deletePrompt(context, args) }),
  }),
  createPromptVersion: t.field({
    type: CreatePromptVersionPayload,
    description:
      "Adds a version to a prompt, the newest from then on; an error `PROMPT_NOT_FOUND` when there is none with that slug, `CONFLICT` when the name of the version is taken.",
    args: argumentsOf(t, createPromptVersionInput, { input: PromptVersionInput }),
    resolve: (_, args, context) => createPromptVersion(context, args),
  }),
}));
