import type { ObjectFieldBuilder } from "@pothos/core";
import type { Context } from "../context.ts";
import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { payloadType } from "../graphql/payloads.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { Prompt } from "./graphql.ts";
import { promptTagInput, publishPromptArguments, setTagProtectionInput, versionSelector } from "./inputs.ts";
import { prompt } from "./resolvers.ts";
import {
  publishPrompt,
  removePromptTag,
  rollbackPromptTag,
  setTagProtection,
  type TagState,
} from "./tags.resolvers.ts";
import { PromptTag } from "./types.ts";

const PromptVersionSelector = builder.inputType("PromptVersionSelector", {
  description: versionSelector.description,
  isOneOf: true,
  fields: (t) => ({
    version: t.string({ description: versionSelector.shape.version.description }),
    tag: t.string({ description: versionSelector.shape.tag.description }),
  }),
});

/** The prompt after a change; null when the token may write but not read. */
async function readablePrompt(context: Context, { slug }: { slug: string }) {
  return authenticated(context).scopes.includes("read") ? prompt(context, { slug }) : null;
}

function promptField<State extends { slug: string }>(
  t: ObjectFieldBuilder<typeof builder.$inferSchemaTypes, State>,
) {
  return t.field({
    type: Prompt,
    nullable: true,
    description: "The prompt as it is now; null when the token lacks the scope `read`.",
    resolve: (state, _, context) => readablePrompt(context, state),
  });
}

const tagPayload = (name: string, description: string) =>
  payloadType<TagState>(name, {
    description,
    fields: (t) => ({
      promptTag: t.field({
        type: PromptTag,
        nullable: true,
        description: "The tag as it is now; null when it is gone.",
        resolve: ({ id, label, version }) => (version === null ? null : { id, label, version }),
      }),
      prompt: promptField(t),
    }),
  });

const RemovePromptTagPayload = payloadType<TagState>("RemovePromptTagPayload", {
  description: "The tag that was removed.",
  fields: (t) => ({
    deletedPromptTagId: t.exposeID("id", { description: "The id of the tag that was removed." }),
    prompt: promptField(t),
  }),
});

const SetTagProtectionPayload = payloadType<{ slug: string; protectedTags: string[] }>(
  "SetTagProtectionPayload",
  {
    description: "The protected tags of the prompt.",
    fields: (t) => ({
      protectedTags: t.exposeStringList("protectedTags", {
        description: "The tags that are protected now, by name.",
      }),
      prompt: promptField(t),
    }),
  },
);

builder.mutationFields((t) => ({
  publishPrompt: t.field({
    type: tagPayload("PublishPromptPayload", "The tag that was pointed to a version."),
    description:
      "Points a tag to a version, and makes the tag when there is none of that name; an error `PROMPT_NOT_FOUND`, `VERSION_NOT_FOUND` or `TAG_NOT_FOUND` when what is named is not there. A protected tag needs the scope `publish`.",
    args: argumentsOf(t, publishPromptArguments, {
      input: inputTypeOf("PublishPromptInput", publishPromptArguments.shape.input, {
        to: PromptVersionSelector,
      }),
    }),
    resolve: (_, { slug, input: { newTag, to } }, context) => publishPrompt(context, { slug, newTag, ...to }),
  }),
  removePromptTag: t.field({
    type: RemovePromptTagPayload,
    description:
      "Removes a tag; an error `PROMPT_NOT_FOUND` or `TAG_NOT_FOUND` when there is none of that name. A protected tag needs the scope `publish`.",
    args: argumentsOf(t, promptTagInput, {
      input: inputTypeOf("RemovePromptTagInput", promptTagInput.shape.input),
    }),
    resolve: (_, args, context) => removePromptTag(context, args),
  }),
  rollbackPromptTag: t.field({
    type: tagPayload("RollbackPromptTagPayload", "The tag that was pointed back."),
    description:
      "Points a tag back to where it pointed before its last move; an error `PROMPT_NOT_FOUND` when there is no such prompt, `CONFLICT` when the tag was never moved. A protected tag needs the scope `publish`.",
    args: argumentsOf(t, promptTagInput, {
      input: inputTypeOf("RollbackPromptTagInput", promptTagInput.shape.input),
    }),
    resolve: (_, args, context) => rollbackPromptTag(context, args),
  }),
  setTagProtection: t.field({
    type: SetTagProtectionPayload,
    description:
      "Protects a tag or removes its protection; an error `PROMPT_NOT_FOUND` when there is no such prompt. Needs the scope `publish`.",
    args: argumentsOf(t, setTagProtectionInput, {
      input: inputTypeOf("SetTagProtectionInput", setTagProtectionInput.shape.input),
    }),
    resolve: async (_, args, context) => ({
      slug: args.slug,
      protectedTags: await setTagProtection(context, args),
    }),
  }),
}));
