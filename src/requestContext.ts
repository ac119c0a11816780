import type { FastifyBaseLogger } from "fastify";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import type { FastifyReply, FastifyRequest } from "./http/app.ts";
import { type AnswerBudget, newAnswerBudget } from "./limits/answerBudget.ts";
import { createAnswerMemory } from "./limits/answerMemory.ts";
import type { Deadline } from "./limits/deadline.ts";
import { createAuthenticate } from "./workspaces/authentication.resolvers.ts";

/** Creates the context of a request after looking up its token. */
export type ContextOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>;

export function createContextOf(
  database: Database,
  log: FastifyBaseLogger,
  retentionDays: number | null,
): ContextOf {
  const authenticate = createAuthenticate(database, log);
  const memory = createAnswerMemory();
  return async ({ headers, deadline }, { raw }) => {
    const reauthenticate = () => authenticate(headers.authorization);
    const access = await reauthenticate();
    const hold = (bytes: number) => memory.hold(raw, access!.workspaceId, bytes);
    const budget = newAnswerBudget({ hold });
    return new RequestContext(database, access, reauthenticate, deadline, budget, retentionDays);
  };
}

class RequestContext implements Context {
  readonly database: Database;
  readonly access: Access | null;
  readonly reauthenticate: Context["reauthenticate"];
  readonly deadline: Deadline;
  readonly answerBudget: AnswerBudget;
  readonly retentionDays: number | null;
  #em: EntityManager | undefined;

  constructor(
    database: Database,
    access: Access | null,
    reauthenticate: Context["reauthenticate"],
    deadline: Deadline,
    answerBudget: AnswerBudget,
    retentionDays: number | null,
  ) {
    this.database = database;
    this.access = access;
    this.reauthenticate = reauthenticate;
    this.deadline = deadline;
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
