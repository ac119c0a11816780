import type { Writable } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import type { FastifyRequest } from "./http/app.ts";
import { originOf } from "./http/origin.ts";
import { type AnswerBudget, newAnswerBudget } from "./limits/answerBudget.ts";
import { createAnswerMemory } from "./limits/answerMemory.ts";
import type { Deadline } from "./limits/deadline.ts";
import { createAuthenticate } from "./workspaces/authentication.resolvers.ts";

/** A request by HTTP, or a call by gRPC, which no URL answers. */
type Caller = FastifyRequest | { headers: { authorization?: string | undefined }; deadline: Deadline };

/** Creates the context of a request, by HTTP or gRPC, after looking up its token. `raw` is the stream of its answer. */
export type ContextOf = (request: Caller, reply: { raw: Writable }) => Promise<Context>;

export function createContextOf(
  database: Database,
  log: FastifyBaseLogger,
  retentionDays: number | null,
): ContextOf {
  const authenticate = createAuthenticate(database, log);
  const memory = createAnswerMemory();
  return async (request, { raw }) => {
    const reauthenticate = () => authenticate(request.headers.authorization);
    const access = await reauthenticate();
    const hold = (bytes: number) => memory.hold(raw, access!.workspaceId, bytes);
    const budget = newAnswerBudget({ hold });
    return new RequestContext(database, access, reauthenticate, request, budget, retentionDays);
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
