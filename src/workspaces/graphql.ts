import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType, PIECE_SIZE } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { payloadType } from "../graphql/payloads.ts";
import type { scopes } from "../scopes.ts";
import { type AuditHead, auditLog, findAuditEntry, stateOf } from "./audit.resolvers.ts";
import type * as entities from "./entities.ts";
import {
  accessTokenInput,
  accessTokensInput,
  auditLogInput,
  createAccessTokenArguments,
  createAccessTokenInput,
  MAX_PAGE,
} from "./inputs.ts";
import {
  accessTokenPage,
  createAccessToken,
  findAccessToken,
  revokeAccessToken,
} from "./tokens.resolvers.ts";

const Scope = builder.enumType("Scope", {
  description: "What an access token may do.",
  values: {
    READ: { value: "read", description: "Read everything in the workspace." },
    WRITE: { value: "write", description: "Add and change prompts, datasets and logs." },
    PUBLISH: { value: "publish", description: "Move protected tags, and protect them." },
    ADMIN: {
      value: "admin",
      description:
        "Make tokens with the scopes of this one, revoke any, set model prices, and read the audit log.",
    },
  } satisfies Record<Uppercase<(typeof scopes)[number]>, object>,
});

export const AccessToken = builder.objectRef<entities.AccessToken>("AccessToken").implement({
  description: "An access token, without its secret.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID. It is no secret." }),
    name: t.exposeString("name", { description: "What it is for." }),
    scopes: t.field({ type: [Scope], description: "What it may do.", resolve: (token) => token.scopes }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
    expiresAt: t.expose("expiresAt", {
      type: "DateTime",
      nullable: true,
      description: "When it ends; null for never.",
    }),
    revokedAt: t.expose("revokedAt", {
      type: "DateTime",
      nullable: true,
      description: "When it was revoked.",
    }),
    lastUsedAt: t.expose("lastUsedAt", {
      type: "DateTime",
      nullable: true,
      description: "When it was used last, to the minute; null for never.",
    }),
  }),
});

const AuditEntry = builder.objectRef<AuditHead>("AuditEntry").implement({
  description: "One change of a prompt, a tag, a dataset's shape, a price or a token.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was made." }),
    at: t.expose("createdAt", {
      type: "DateTime",
      description: "When it was made.",
      deprecationReason: "Since 0.1.0: use `createdAt`, as all types have it.",
    }),
    token: t.exposeString("tokenName", { description: "The name of the access token that made it." }),
    action: t.exposeString("action", { description: "The operation." }),
    subject: t.exposeString("subject", { description: "What was changed, such as the slug of a prompt." }),
    before: t.field({
      type: "JSONObject",
      nullable: true,
      description: "How it was before.",
      resolve: stateOf("before"),
    }),
    after: t.field({
      type: "JSONObject",
      nullable: true,
      description: "How it was after.",
      resolve: stateOf("after"),
    }),
  }),
});

findsNode(AccessToken, "admin", { find: findAccessToken });
findsNode(AuditEntry, "admin", { find: findAuditEntry });

builder.queryFields((t) => ({
  accessTokens: t.field({
    type: connectionType(AccessToken, "access tokens"),
    description: "The tokens of the workspace, the oldest first. Needs the scope `admin`.",
    args: argumentsOf(t, accessTokensInput),
    extensions: { maxPageEntries: MAX_PAGE },
    resolve: (_, args, context) =>
      connect(context, args, {
        read: (page) => accessTokenPage(context, page),
        key: ({ id }) => id,
        pieceSize: PIECE_SIZE,
      }),
  }),
  auditLog: t.field({
    type: connectionType(AuditEntry, "the audit log"),
    description: "Who changed what, the latest first. Needs the scope `admin`.",
    args: argumentsOf(t, auditLogInput),
    extensions: { maxPageEntries: MAX_PAGE },
    resolve: (_, args, context) =>
      connect(context, args, {
        read: (page) => auditLog(context, page),
        key: ({ id }) => id,
        pieceSize: PIECE_SIZE,
      }),
  }),
}));

const CreateAccessTokenPayload = payloadType<Awaited<ReturnType<typeof createAccessToken>>>(
  "CreateAccessTokenPayload",
  {
    description: "The token that was made.",
    fields: (t) => ({
      token: t.exposeString("token", { description: "The token itself. It is returned only now: keep it." }),
      accessToken: t.expose("accessToken", {
        type: AccessToken,
        description: "The token without its secret.",
      }),
    }),
  },
);

const RevokeAccessTokenPayload = payloadType<{ accessToken: entities.AccessToken }>(
  "RevokeAccessTokenPayload",
  {
    description: "The token that was ended.",
    fields: (t) => ({
      accessToken: t.expose("accessToken", { type: AccessToken, description: "The token as it is now." }),
    }),
  },
);

const CreateAccessTokenInput = inputTypeOf("CreateAccessTokenInput", createAccessTokenInput, {
  scopes: [Scope],
  expiresAt: "DateTime",
});

builder.mutationFields((t) => ({
  createAccessToken: t.field({
    type: CreateAccessTokenPayload,
    description:
      "Makes an access token. Needs the scope `admin`, and every scope that the new token is to have.",
    args: argumentsOf(t, createAccessTokenArguments, { input: CreateAccessTokenInput }),
    resolve: (_, { input: { expiresAt = null, ...input } }, context) =>
      createAccessToken(context, { ...input, expiresAt }),
  }),
  revokeAccessToken: t.field({
    type: RevokeAccessTokenPayload,
    description:
      "Ends an access token; servers follow within a second. An error `TOKEN_NOT_FOUND` when there is none with that id, or it was ended before. Needs the scope `admin`.",
    args: argumentsOf(t, accessTokenInput, { id: "ID" }),
    resolve: async (_, args, context) => ({ accessToken: await revokeAccessToken(context, args) }),
  }),
}));
