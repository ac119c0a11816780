import { builder } from "../graphql/builder.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import type { Model, VersionSource as Source, Variable } from "./entities.ts";
import { PromptMessage } from "./messages.graphql.ts";
import { contentColumn, findVersionById, type VersionRecord } from "./versions.resolvers.ts";

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

export const PromptModel = builder.objectRef<Model>("PromptModel").implement({
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

const VersionSource = builder.objectRef<Source>("VersionSource").implement({
  description: "The commit of a repository that a prompt version comes from.",
  fields: (t) => ({
    commit: t.exposeString("commit", { description: "The id of the commit." }),
    author: t.exposeString("author", { nullable: true, description: "Who wrote it." }),
    message: t.exposeString("message", { nullable: true, description: "The first line of its message." }),
  }),
});

export const PromptVersion = builder.objectRef<VersionRecord>("PromptVersion").implement({
  description: "A version of a prompt. It never changes once it is made.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    version: t.exposeString("version", { description: "Its name, unique in the prompt." }),
    text: t.string({ description: "The text, a Jinja template.", resolve: contentColumn("text") }),
    systemText: t.string({
      nullable: true,
      description: "The text for the system's role.",
      resolve: contentColumn("systemText"),
    }),
    messages: t.field({
      type: [PromptMessage],
      nullable: true,
      description: "The messages of a chat, in order; null when it has none.",
      resolve: contentColumn("messages"),
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
    source: t.field({
      type: VersionSource,
      nullable: true,
      description: "The commit that it comes from; null when its author named none.",
      resolve: contentColumn("source"),
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "When it was made.",
      resolve: contentColumn("createdAt"),
    }),
  }),
});

findsNode(PromptVersion, "read", { find: findVersionById });
