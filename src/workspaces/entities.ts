import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import type { Scope } from "../context.ts";
import { json, moment } from "../database/columns.ts";

/** What one team owns: no query ever crosses its border. */
export const Workspace = defineEntity({
  name: "Workspace",
  tableName: "workspaces",
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique(),
    createdAt: moment(),
  },
});
export type Workspace = InferEntity<typeof Workspace>;

/** A right to act in one workspace; only the SHA-256 of the token itself is kept. */
export const AccessToken = defineEntity({
  name: "AccessToken",
  tableName: "access_tokens",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref(),
    name: p.text(),
    hash: p.string().length(64).unique(),
    scopes: json<Scope[]>(),
    createdAt: moment(),
    expiresAt: moment().strictNullable(),
    revokedAt: moment().strictNullable(),
    lastUsedAt: moment().strictNullable(),
  },
});
export type AccessToken = InferEntity<typeof AccessToken>;
