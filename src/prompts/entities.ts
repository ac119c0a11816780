import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, timestamp } from "../database/columnTypes.ts";
import { Workspace } from "../workspaces/entities.ts";
import type { Message } from "./messages.ts";

/** The model that a prompt version is written for. */
export interface Model {
  provider: string | null;
  client: string | null;
  model: string;
  version: string | null;
  parameters: Record<string, unknown>;
}

/** The commit that a version was pushed from. */
export interface VersionSource {
  commit: string;
  author: string | null;
  message: string | null;
}

export interface Variable {
  label: string;
  type: string;
  description: string | null;
}

export const Prompt = defineEntity({
  name: "Prompt",
  tableName: "prompts",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    slug: p.text(),
    name: p.text(),
    description: p.text().strictNullable(),
    /** The feature of the application that the prompt belongs to. */
    featureSlug: p.text().strictNullable(),
    /** Labels of tags that only a token with the scope `publish` may move. */
    protectedTags: json<string[]>().default("[]"),
    createdAt: timestamp(),
    /** The time of its soft delete, while its parts are being removed; its slug is then ~ and its id. */
    deletedAt: timestamp().nullable(),
  },
  uniques: [{ properties: ["workspace", "slug"] }],
  indexes: [
    { properties: ["workspace", "featureSlug", "slug"] },
    { name: "prompts_deleted", properties: ["deletedAt"], where: "deleted_at is not null" },
  ],
  filters: { notDeleted: { name: "notDeleted", cond: { deletedAt: null }, default: true } },
});
export type Prompt = InferEntity<typeof Prompt>;

/** Immutable. The versions of a prompt are in the order of their ids: each is greater than the last one's. */
export const PromptVersion = defineEntity({
  name: "PromptVersion",
  tableName: "prompt_versions",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    prompt: () => p.manyToOne(Prompt).ref().index(false).deleteRule("cascade"),
    version: p.text(),
    createdAt: timestamp(),
    source: json<VersionSource>().nullable(),
    // Texts of any length stand last: SQLite reads a row up to the column that it needs.
    model: json<Model>().strictNullable(),
    variables: json<Variable[]>(),
    messages: json<Message[]>().strictNullable(),
    systemText: p.text().strictNullable(),
    text: p.text(),
  },
  // Begins with the parent: the database finds the children of a deleted parent by it.
  uniques: [{ properties: ["prompt", "workspace", "version"] }],
  indexes: [{ properties: ["prompt", "workspace", "id", "version"] }],
});
export type PromptVersion = InferEntity<typeof PromptVersion>;

/** Points to one version of its prompt. `latest` is not stored: it follows from the order of the versions. */
export const PromptTag = defineEntity({
  name: "PromptTag",
  tableName: "prompt_tags",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    prompt: () => p.manyToOne(Prompt).ref().index(false).deleteRule("cascade"),
    label: p.text(),
    version: () => p.manyToOne(PromptVersion).ref().deleteRule("cascade"),
    createdAt: timestamp(),
  },
  uniques: [{ properties: ["prompt", "workspace", "label"] }],
});
export type PromptTag = InferEntity<typeof PromptTag>;

/**
 * One move of a tag. `from` and `to` are names of versions; null when the tag did not exist. The moves of a prompt are in the order
 * of their ids, as its versions are.
 */
export const PromptTagMove = defineEntity({
  name: "PromptTagMove",
  tableName: "prompt_tag_moves",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    prompt: () => p.manyToOne(Prompt).ref().index(false).deleteRule("cascade"),
    label: p.text(),
    from: p.text().strictNullable(),
    to: p.text().strictNullable(),
    tokenName: p.text(),
    createdAt: timestamp(),
  },
  // Begin with the parent: the database finds the children of a deleted parent by them.
  indexes: [
    { properties: ["prompt", "workspace", "id"] },
    { properties: ["prompt", "workspace", "label", "id"] },
  ],
});
export type PromptTagMove = InferEntity<typeof PromptTagMove>;
