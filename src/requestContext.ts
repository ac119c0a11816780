import type { FastifyBaseLogger } from "fastify";
import { createAuthenticateSession } from "./console/sessions.resolvers.ts";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import type { FastifyReply, FastifyRequest } from "./http/app.ts";
import { graphqlSessionSecretOf, sessionSecretOf } from "./http/sessionCookie.ts";
import { type AnswerBudget, newAnswerBudget } from "./limits/answerBudget.ts";
import { createAnswerMemory } from "./limits/answerMemory.ts";
import type { Deadline } from "./limits/deadline.ts";
import { createAuthenticate } from "./workspaces/authentication.resolvers.ts";

/** Creates the context of a request after looking up its token or its session. */
export type ContextOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>;

/** How requests become contexts: everywhere by a token; at GraphQL and the console's own routes also by a session. */
export function createContexts(
  database: Database,
  log: FastifyBaseLogger,
  graphqlTakes: "sessions" | "tokens alone",
): Record<"ofToken" | "ofGraphql" | "ofSession", ContextOf> {
  const authenticate = createAuthenticate(database, log);
  const authenticateSession = createAuthenticateSession(database, log);
  const memory = createAnswerMemory();
  const contextBy =
    (authenticationOf: (request: FastifyRequest) => Context["reauthenticate"]): ContextOf =>
    async (request, { raw }) => {
      const reauthenticate = authenticationOf(request);
      const access = await reauthenticate();
      const hold = (bytes: number) => memory.hold(raw, access!.workspaceId, bytes);
      return new RequestContext(
        database,
        access,
        reauthenticate,
        request.deadline,
        newAnswerBudget({ hold }),
      );
    };
  const byToken = ({ headers }: FastifyRequest) => authenticate(headers.authorization);
  const bySecret = async (secret: string | undefined) =>
    secret === undefined ? null : authenticateSession(secret);
  return {
    ofToken: contextBy((request) => () => byToken(request)),
    ofSession: contextBy((request) => {
      const secret = sessionSecretOf(request);
      return () => bySecret(secret);
    }),
    ofGraphql: contextBy((request) => {
      const secret = graphqlTakes === "sessions" ? graphqlSessionSecretOf(request) : undefined;
      return () => (secret === undefined ? byToken(request) : authenticateSession(secret));
    }),
  };
}

class RequestContext implements Context {
  readonly database: Database;
  readonly access: Access | null;
  readonly reauthenticate: Context["reauthenticate"];
  readonly deadline: Deadline;
  readonly answerBudget: AnswerBudget;
  #em: EntityManager | undefined;

  constructor(
    database: Database,
    access: Access | null,
    reauthenticate: Context["reauthenticate"],
    deadline: Deadline,
    answerBudget: AnswerBudget,
  ) {
    this.database = database;
    this.access = access;
    this.reauthenticate = reauthenticate;
    this.deadline = deadline;
    this.answerBudget = answerBudget;
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
