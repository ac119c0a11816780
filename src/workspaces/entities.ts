import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, timestamp } from "../database/columnTypes.ts";
import type { Scope } from "../scopes.ts";

/** The data of one team: no request reads from two workspaces. */
export const Workspace = defineEntity({
  name: "Workspace",
  tableName: "workspaces",
  properties: {
    id: p.uuid().primary(),
    name: p.text().unique(),
    createdAt: timestamp(),
  },
});
export type Workspace = InferEntity<typeof Workspace>;

/** A right to act in one workspace; only the SHA-256 of the token itself is stored. */
export const AccessToken = defineEntity({
  name: "AccessToken",
  tableName: "access_tokens",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    name: p.text(),
    hash: p.string().length(64).unique(),
    scopes: json<Scope[]>(),
    createdAt: timestamp(),
    expiresAt: timestamp().strictNullable(),
    revokedAt: timestamp().strictNullable(),
    lastUsedAt: timestamp().strictNullable(),
  },
  indexes: [
    { properties: ["workspace", "id"] },
    { name: "access_tokens_unrevoked", properties: ["workspace", "id"], where: "revoked_at is null" },
  ],
});
export type AccessToken = InferEntity<typeof AccessToken>;

/** The answer to a request with an `Idempotency-Key`, which a retry gets again. */
export const IdempotentAnswer = defineEntity({
  name: "IdempotentAnswer",
  tableName: "idempotent_answers",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    tokenId: p.uuid(),
    keyHash: p.string().length(64),
    /** The hash of the request, to refuse another request with the same key. */
    requestHash: p.string().length(64),
    /** Encrypted with the caller's token, as it may hold a secret that is stored nowhere else. */
    answer: p.text(),
    createdAt: timestamp().index(),
  },
  uniques: [{ properties: ["workspace", "tokenId", "keyHash"] }],
});
export type IdempotentAnswer = InferEntity<typeof IdempotentAnswer>;

/** One change of a prompt, a tag, a dataset's shape or a token: by whom, what, and how it was before and after. */
export const AuditEntry = defineEntity({
  name: "AuditEntry",
  tableName: "audit_entries",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    // The name is stored as well, as the token may be gone.
    tokenId: p.uuid().strictNullable(),
    tokenName: p.text(),
    action: p.text(),
    subject: p.text(),
    createdAt: timestamp(),
    // Of any length, so last: SQLite reads a row up to the column that it needs.
    before: json<Record<string, unknown>>().strictNullable(),
    after: json<Record<string, unknown>>().strictNullable(),
  },
  indexes: [{ properties: ["workspace", "id"] }],
});
export type AuditEntry = InferEntity<typeof AuditEntry>;
