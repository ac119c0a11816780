import type { Writable } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import { createSessionAuthentication, type SessionUse } from "./console/sessions.resolvers.ts";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import type { FastifyRequest } from "./http/app.ts";
import { originOf } from "./http/origin.ts";
import { graphqlSessionSecretOf, secretInCookie, sessionSecretOf } from "./http/sessionCookie.ts";
import { type AnswerBudget, newAnswerBudget } from "./limits/answerBudget.ts";
import { createAnswerMemory } from "./limits/answerMemory.ts";
import type { Deadline } from "./limits/deadline.ts";
import { createTokenAuthentication } from "./workspaces/authentication.resolvers.ts";

/** A request by HTTP, or a call by gRPC, which no URL answers. */
export type Caller = FastifyRequest | { headers: { authorization?: string | undefined }; deadline: Deadline };

/** Creates the context of a request after looking up its token or its session. `raw` is the stream of its answer. */
export type ContextOf<Request = FastifyRequest> = (
  request: Request,
  reply: { raw: Writable },
) => Promise<Context>;

interface ContextOptions {
  graphqlTakes: "sessions" | "tokens alone";
  retentionDays: number | null;
}

export interface Contexts {
  ofToken: ContextOf<Caller>;
  ofGraphql: ContextOf;
  ofSession: ContextOf;
  /** The workspace of a request whose token or session was valid when it was last looked up; undefined for all others. */
  lastWorkspaceOf(request: FastifyRequest): string | undefined;
}

/** How requests become contexts: everywhere by a token; at GraphQL and the console's own routes also by a session. */
export function createContexts(
  database: Database,
  log: FastifyBaseLogger,
  { graphqlTakes, retentionDays }: ContextOptions,
): Contexts {
  const tokens = createTokenAuthentication(database, log);
  const sessions = createSessionAuthentication(database, log);
  const memory = createAnswerMemory();
  const contextBy =
    <Request extends Caller>(
      authenticationOf: (request: Request) => (use: SessionUse) => Promise<Access | null>,
    ): ContextOf<Request> =>
    async (request, { raw }) => {
      const authenticated = authenticationOf(request);
      const access = await authenticated("used");
      const reauthenticate = () => authenticated("watched");
      const hold = (bytes: number) => memory.hold(raw, access!.workspaceId, bytes);
      const beAlone = () => memory.beAlone(raw, access!.workspaceId);
      const budget = newAnswerBudget({ hold, beAlone });
      return new RequestContext(database, access, reauthenticate, request, budget, retentionDays);
    };
  const byToken = ({ headers }: Caller) => tokens.authenticate(headers.authorization);
  const bySecret = async (secret: string | undefined, use: SessionUse) =>
    secret === undefined ? null : sessions.authenticate(secret, use);
  return {
    ofToken: contextBy((request: Caller) => () => byToken(request)),
    ofSession: contextBy((request: FastifyRequest) => {
      const secret = sessionSecretOf(request);
      return (use) => bySecret(secret, use);
    }),
    ofGraphql: contextBy((request: FastifyRequest) => {
      const secret = graphqlTakes === "sessions" ? graphqlSessionSecretOf(request) : undefined;
      // All tabs of a browser have one cookie: a page that shows one workspace changed another after a sign-in elsewhere.
      const shown = request.headers["console-workspace"];
      return (use) => (secret === undefined ? byToken(request) : sessions.authenticate(secret, use, shown));
    }),
    lastWorkspaceOf: (request) => {
      const { authorization } = request.headers;
      if (authorization !== undefined) return tokens.lastWorkspaceOf(authorization);
      const secret = secretInCookie(request);
      return secret === undefined ? undefined : sessions.lastWorkspaceOf(secret);
    },
  };
}

/** Creates the context of a request by a signed URL, which counts for its workspace and has no scope. */
export function signedContext(database: Database, request: FastifyRequest, workspaceId: string): Context {
  const access = { tokenId: null, tokenName: "signed URL", workspaceId, scopes: [] };
  return new RequestContext(database, access, async () => access, request, newAnswerBudget(), null);
}

class RequestContext implements Context {
  readonly database: Database;
  readonly access: Access | null;
  readonly reauthenticate: Context["reauthenticate"];
  readonly deadline: Deadline;
  readonly answerBudget: AnswerBudget;
  readonly origin: Context["origin"];
  readonly retentionDays: number | null;
  #em: EntityManager | undefined;

  constructor(
    database: Database,
    access: Access | null,
    reauthenticate: Context["reauthenticate"],
    request: Caller,
    answerBudget: AnswerBudget,
    retentionDays: number | null,
  ) {
    this.database = database;
    this.access = access;
    this.reauthenticate = reauthenticate;
    this.deadline = request.deadline;
    this.origin = () => ("socket" in request ? originOf(request) : "");
    this.answerBudget = answerBudget;
    this.retentionDays = retentionDays;
  }

  /** Created on demand: cached reads and new rows do not need it. */
  get em(): EntityManager {
    this.#em ??= this.database.fork(this.access?.workspaceId ?? null);
    return this.#em;
  }

  set em(em: EntityManager) {
    this.#em = em;
  }
}
