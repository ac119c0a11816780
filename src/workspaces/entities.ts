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

/** One change of a prompt, a tag, a dataset's shape or a token: by whom, what, and how it was before and after. */
export const AuditEntry = defineEntity({
  name: "AuditEntry",
  tableName: "audit_entries",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    // The name is kept too: it tells who it was when the token is long gone.
    tokenId: p.uuid().strictNullable(),
    tokenName: p.text(),
    action: p.text(),
    subject: p.text(),
    before: json<Record<string, unknown>>().strictNullable(),
    after: json<Record<string, unknown>>().strictNullable(),
    createdAt: moment(),
  },
  indexes: [{ properties: ["workspace", "id"] }],
});
export type AuditEntry = InferEntity<typeof AuditEntry>;
