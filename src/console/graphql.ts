import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType, PIECE_SIZE } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { deletionType } from "../graphql/payloads.ts";
import { AccessToken } from "../workspaces/graphql.ts";
import { findAccessToken } from "../workspaces/tokens.resolvers.ts";
import type * as entities from "./entities.ts";
import { consoleSessionInput, consoleSessionsInput, MAX_PAGE } from "./inputs.ts";
import { consoleSessionPage, endConsoleSession, endOf, findConsoleSession } from "./sessionList.resolvers.ts";

const ConsoleSession = builder.objectRef<entities.ConsoleSession>("ConsoleSession").implement({
  description: "A browser that is signed in to the console.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID. It is no secret." }),
    accessToken: t.field({
      type: AccessToken,
      nullable: true,
      description:
        "The token it is signed in with, whose scopes it has; null when the token was just removed.",
      resolve: ({ token }, _, context) => findAccessToken(context, token.id),
    }),
    isCurrent: t.boolean({
      description: "Whether it is the session of this request.",
      resolve: ({ id }, _, { access }) => access?.sessionId === id,
    }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was signed in." }),
    lastUsedAt: t.expose("lastUsedAt", {
      type: "DateTime",
      description: "When it was used last, to the minute.",
    }),
    expiresAt: t.field({
      type: "DateTime",
      description: "When it ends unless it is used before; at the latest 7 days after it was signed in.",
      resolve: endOf,
    }),
  }),
});

findsNode(ConsoleSession, "admin", { find: findConsoleSession });

builder.queryField("consoleSessions", (t) =>
  t.field({
    type: connectionType(ConsoleSession, "sessions of the console"),
    description: "The browsers that are signed in to the console, the oldest first. Needs the scope `admin`.",
    args: argumentsOf(t, consoleSessionsInput),
    extensions: { maxPageEntries: MAX_PAGE },
    resolve: (_, args, context) =>
      connect(context, args, {
        read: (page) => consoleSessionPage(context, page),
        key: ({ id }) => id,
        pieceSize: PIECE_SIZE,
      }),
  }),
);

const EndConsoleSessionPayload = deletionType("ConsoleSession", "session", "End");

builder.mutationField("endConsoleSession", (t) =>
  t.field({
    type: EndConsoleSessionPayload,
    description:
      "Signs a browser out; servers follow within a second. An error `SESSION_NOT_FOUND` when there is no session with that id, or it has ended before. Needs the scope `admin`.",
    args: argumentsOf(t, consoleSessionInput, { id: "ID" }),
    resolve: (_, args, context) => endConsoleSession(context, args),
  }),
);
