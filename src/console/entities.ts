import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { timestamp } from "../database/columnTypes.ts";
import { AccessToken, Workspace } from "../workspaces/entities.ts";

/** A browser that is signed in with an access token; only the SHA-256 of its secret is stored. */
export const ConsoleSession = defineEntity({
  name: "ConsoleSession",
  tableName: "console_sessions",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    token: () => p.manyToOne(AccessToken).ref(),
    hash: p.string().length(64).unique(),
    createdAt: timestamp().index(),
    lastUsedAt: timestamp().index(),
  },
  indexes: [{ properties: ["workspace", "id"] }],
});
export type ConsoleSession = InferEntity<typeof ConsoleSession>;

/** A link that signs in once, without a token to paste; only the SHA-256 of its code is stored. */
export const SignInLink = defineEntity({
  name: "SignInLink",
  tableName: "sign_in_links",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref(),
    token: () => p.manyToOne(AccessToken).ref(),
    hash: p.string().length(64).unique(),
    createdAt: timestamp(),
  },
});
export type SignInLink = InferEntity<typeof SignInLink>;
