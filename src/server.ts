import { randomUUID } from "node:crypto";
import cors from "@fastify/cors";
import Fastify, { type FastifyRequest, type FastifyServerOptions, LogController } from "fastify";
import type { Config } from "./config.ts";
import { createHttpServer, PATIENCE, type Patience } from "./connections.ts";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import { GabbroError } from "./errors.ts";
import { playground, sendPlayground } from "./graphql/playground.ts";
import { createGraphqlHandler } from "./graphql/yoga.ts";
import { createOverload, type Limits } from "./overload.ts";
import { protect } from "./protection.ts";
import { answerError, answerToNoRequest, refuseUnrouted } from "./rest/answers.ts";
import type { RestApp } from "./rest/app.ts";
import { readJsonBodies } from "./rest/body.ts";
import { compressAnswers } from "./rest/compression.ts";
import { openApi } from "./rest/openapi.ts";
import { restRoutes, schemaController } from "./rest/routes.ts";
import { closeGracefully } from "./stopping.ts";
import { forgetOldAnswers } from "./workspaces/idempotency.resolvers.ts";
import { createAuthenticate } from "./workspaces/resolvers.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const LONGEST_PATH = 16 * 1024; // what Node.js takes for all headers together
const FORGETTING_INTERVAL_MS = 60_000;

interface ServerOptions extends Pick<Config, "corsOrigins"> {
  limits?: Partial<Limits>;
  patience?: Partial<Patience>;
}

/**
 * Makes the server of both doors over a migrated database; it does not listen yet. Closing it lets requests in flight
 * finish, then closes the database.
 */
export async function createServer(
  database: Database,
  { corsOrigins, limits = {}, patience = {} }: ServerOptions,
  logger: FastifyServerOptions["logger"],
): Promise<RestApp> {
  const overload = createOverload(limits);
  const app: RestApp = Fastify({
    logger,
    logController: new LogController({ disableRequestLogging: true }), // logRequests does
    bodyLimit: MAX_BODY_BYTES,
    serverFactory: (handle, options) =>
      createHttpServer(overload.before(handle), options, { ...PATIENCE, ...patience }),
    return503OnClosing: false, // closeGracefully ends connections instead
    routerOptions: { maxParamLength: LONGEST_PATH },
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    frameworkErrors: answerError,
    schemaController: schemaController!,
    clientErrorHandler: (error, socket) => void socket.end(answerToNoRequest(error)),
  });
  app.setErrorHandler(answerError);
  readJsonBodies(app);
  logRequests(app);
  overload.watch(app);
  refuseUnrouted(app);
  protect(app);
  if (corsOrigins.length > 0)
    await app.register(cors, {
      origin: corsOrigins.includes("*") ? "*" : corsOrigins,
      strictPreflight: false,
    });

  const authenticate = createAuthenticate(database, app.log);
  const contextOf = async ({ headers }: FastifyRequest): Promise<Context> => {
    const askAgain = () => authenticate(headers.authorization);
    return new RequestContext(database, await askAgain(), askAgain);
  };
  compressAnswers(app);
  await openApi(app);
  healthRoutes(app, database);
  await app.register((routes: RestApp) => restRoutes(routes, contextOf));
  await app.register((routes: RestApp) => graphqlRoutes(routes, contextOf));
  forgetRegularly(app, database);
  closeGracefully(app, database);
  return app;
}

class RequestContext implements Context {
  readonly database: Database;
  readonly access: Access | null;
  readonly askAgain: Context["askAgain"];
  #em: EntityManager | undefined;

  constructor(database: Database, access: Access | null, askAgain: Context["askAgain"]) {
    this.database = database;
    this.access = access;
    this.askAgain = askAgain;
  }

  /** Made when it is needed: what is remembered, and rows that are only added, do without. */
  get em(): EntityManager {
    this.#em ??= this.database.fork(this.access?.workspaceId ?? null);
    return this.#em;
  }

  set em(other: EntityManager) {
    this.#em = other;
  }
}

function graphqlRoutes(app: RestApp, contextOf: (request: FastifyRequest) => Promise<Context>) {
  const handle = createGraphqlHandler();
  app.route({
    method: ["GET", "POST"],
    url: "/graphql",
    exposeHeadRoute: false,
    schema: { hide: true },
    onRequest: async (request) => {
      request.context = await contextOf(request);
    },
    handler: (request, reply) =>
      isFromBrowser(request) ? sendPlayground(request, reply) : handle(request, reply, request.context),
  });
  return playground(app);
}

/** Clears away what is kept for repeated requests, once it is too old for them. */
function forgetRegularly(app: RestApp, database: Database): void {
  const forget = () =>
    database.track(
      forgetOldAnswers(database).catch((error) => app.log.warn(error, "cannot clear old answers away")),
    );
  const timer = setInterval(forget, FORGETTING_INTERVAL_MS).unref();
  app.addHook("onClose", async () => clearInterval(timer));
}

/** A person who opens the address, not a program that sends a query with GET. */
function isFromBrowser({ method, headers, query }: FastifyRequest): boolean {
  const asksForPage = headers.accept?.includes("text/html") ?? false;
  return method === "GET" && asksForPage && !Object.hasOwn(query as object, "query");
}

function healthRoutes(app: RestApp, database: Database): void {
  app.get("/health", { schema: { hide: true } }, async () => ({ status: "ok" }));
  app.get("/ready", { schema: { hide: true } }, async () => {
    if (!app.isStopping() && (await database.isReady())) return { status: "ok" };
    const message = app.isStopping() ? "The service is about to stop." : "The database does not answer.";
    throw new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
  });
}

/** The caller's id where it is fit for a log, else a new one. */
function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}

/** One line a request: what was asked by route, never by payload, token or query string. */
function logRequests(app: RestApp): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "(none)";
    const latencyMs = Math.round(reply.elapsedTime * 100) / 100;
    request.log.info({ method: request.method, route, status: reply.statusCode, latencyMs }, "answered");
    done();
  });
}
