import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { Prompt } from "./graphql.ts";
import { tagHistoryInput, versionsInput } from "./inputs.ts";
import { PromptVersion } from "./versions.graphql.ts";
import {
  findPromptTag,
  findPromptTagMove,
  newestVersionOf,
  productionVersionOf,
  protectedTagsOf,
  type TagMove,
  tagHistoryPage,
  tagsOf,
  versionPage,
} from "./versions.resolvers.ts";

export const PromptTag = builder
  .objectRef<Omit<Awaited<ReturnType<typeof tagsOf>>[number], "versionId">>("PromptTag")
  .implement({
    description: "A tag, and the version that it points to.",
    interfaces: [Node],
    fields: (t) => ({
      id: t.exposeID("id", { description: "The id, a UUID." }),
      label: t.exposeString("label", { description: "Its name, such as `production`." }),
      version: t.exposeString("version", { description: "The version that it points to." }),
    }),
  });

const PromptTagMove = builder.objectRef<TagMove>("PromptTagMove").implement({
  description: "One move of a tag.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
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
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was moved." }),
    at: t.expose("createdAt", {
      type: "DateTime",
      description: "When it was moved.",
      deprecationReason: "Since 0.1.0: use `createdAt`, as all types have it.",
    }),
  }),
});

findsNode(PromptTag, "read", { find: findPromptTag });
findsNode(PromptTagMove, "read", { find: findPromptTagMove });

builder.objectFields(Prompt, (t) => ({
  versions: t.field({
    type: connectionType(PromptVersion, "the versions of a prompt"),
    description: "Its versions, the oldest first.",
    args: argumentsOf(t, versionsInput),
    resolve: ({ id: promptId }, args, context) =>
      connect(context, args, { read: (page) => versionPage(context, promptId, page), key: ({ id }) => id }),
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
  protectedTags: t.stringList({
    description: "The tags that only a token with the scope `publish` may move.",
    resolve: ({ id }, _, context) => protectedTagsOf(context, id),
  }),
  tagHistory: t.field({
    type: connectionType(PromptTagMove, "the moves of tags"),
    description: "Who moved which tag when, the latest move first.",
    args: argumentsOf(t, tagHistoryInput),
    resolve: ({ id: promptId }, args, context) =>
      connect(context, args, {
        read: (page) => tagHistoryPage(context, promptId, page),
        key: ({ id }) => id,
      }),
  }),
}));
