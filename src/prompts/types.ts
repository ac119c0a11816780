import { builder } from "../graphql/builder.ts";
import type * as entities from "./entities.ts";
import { Prompt, PromptVariable } from "./graphql.ts";
import {
  contentColumn,
  newestVersionOf,
  productionVersionOf,
  type TagMove,
  tagHistoryOf,
  tagsOf,
  type VersionRecord,
  versionsOf,
} from "./versions.resolvers.ts";

export const PromptModel = builder.objectRef<entities.Model>("PromptModel").implement({
  description: "The model that a prompt version is written for.",
  fields: (t) => ({
    provider: t.exposeString("provider", { nullable: true, description: "Who serves it, such as `openai`." }),
    client: t.exposeString("client", { nullable: true, description: "With which client it is called." }),
    model: t.exposeString("model", { description: "Its name, such as `gpt-4o-mini`." }),
    version: t.exposeString("version", {
      nullable: true,
      description: "Its version, where the name does not say.",
    }),
    parameters: t.expose("parameters", {
      type: "JSONObject",
      description: "Its parameters, such as `temperature`.",
    }),
  }),
});

export const PromptVersion = builder.objectRef<VersionRecord>("PromptVersion").implement({
  description: "A version of a prompt. It never changes once it is made.",
  fields: (t) => ({
    version: t.exposeString("version", { description: "Its name, unique in the prompt." }),
    text: t.string({ description: "The text, a Jinja template.", resolve: contentColumn("text") }),
    systemText: t.string({
      nullable: true,
      description: "The text for the system's role.",
      resolve: contentColumn("systemText"),
    }),
    model: t.field({
      type: PromptModel,
      nullable: true,
      description: "The model that it is written for.",
      resolve: contentColumn("model"),
    }),
    variables: t.field({
      type: [PromptVariable],
      description: "The variables that its texts use, and others that were declared.",
      resolve: contentColumn("variables"),
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "When it was made.",
      resolve: contentColumn("createdAt"),
    }),
  }),
});

const PromptTag = builder.objectRef<Awaited<ReturnType<typeof tagsOf>>[number]>("PromptTag").implement({
  description: "A tag, and the version that it points to.",
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    label: t.exposeString("label", { description: "Its name, such as `production`." }),
    version: t.exposeString("version", { description: "The version that it points to." }),
  }),
});

const PromptTagMove = builder.objectRef<TagMove>("PromptTagMove").implement({
  description: "One move of a tag.",
  fields: (t) => ({
    tag: t.exposeString("label", { description: "The tag that was moved." }),
    from: t.exposeString("from", {
      nullable: true,
      description: "The version before; null when the tag was new.",
    }),
    to: t.exposeString("to", {
      nullable: true,
      description: "The version after; null when the tag was removed.",
    }),
    token: t.exposeString("tokenName", { description: "The name of the access token that moved it." }),
    at: t.expose("createdAt", { type: "DateTime", description: "When it was moved." }),
  }),
});

builder.objectFields(Prompt, (t) => ({
  versions: t.field({
    type: [PromptVersion],
    description: "All its versions, the oldest first.",
    resolve: ({ id }, _, context) => versionsOf(context, id),
  }),
  latest: t.field({
    type: PromptVersion,
    nullable: true,
    description: "Its newest version; null when it has none.",
    resolve: ({ id }, _, context) => newestVersionOf(context, id),
  }),
  production: t.field({
    type: PromptVersion,
    nullable: true,
    description: "The version with the tag `production`; null when there is none.",
    resolve: ({ id }, _, context) => productionVersionOf(context, id),
  }),
  tags: t.field({
    type: [PromptTag],
    description:
      "The tags that were published, by name. Without `latest`, which always points to the newest version.",
    resolve: ({ id }, _, context) => tagsOf(context, id),
  }),
  tagHistory: t.field({
    type: [PromptTagMove],
    description: "Who moved which tag when, the latest move first.",
    resolve: ({ id }, _, context) => tagHistoryOf(context, id),
  }),
}));
