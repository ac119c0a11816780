import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import cors from "@fastify/cors";
import Fastify, { type FastifyRequest, type FastifyServerOptions, LogController } from "fastify";
import type { Config } from "./config.ts";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import { GabbroError } from "./errors.ts";
import { playground, sendPlayground } from "./graphql/playground.ts";
import { createGraphqlHandler } from "./graphql/yoga.ts";
import { protect } from "./protection.ts";
import { answerError, answerToNoRequest, refuseUnrouted } from "./rest/answers.ts";
import type { RestApp } from "./rest/app.ts";
import { readJsonBodies } from "./rest/body.ts";
import { compressAnswers } from "./rest/compression.ts";
import { openApi } from "./rest/openapi.ts";
import { restRoutes, schemaController } from "./rest/routes.ts";
import { forgetOldAnswers } from "./workspaces/idempotency.resolvers.ts";
import { createAuthenticate } from "./workspaces/resolvers.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const LONGEST_PATH = 16 * 1024; // what Node.js takes for all headers together
const FORGETTING_INTERVAL_MS = 60_000;
const GRACE_MS = 10_000;
// Who sends slower than this is cut off, so that slow senders cannot hold connections for ever.
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Makes the server of both doors over a migrated database; it does not listen yet. Closing it lets requests in flight
 * finish, then closes the database.
 */
export async function createServer(
  database: Database,
  { corsOrigins }: Pick<Config, "corsOrigins">,
  logger: FastifyServerOptions["logger"],
): Promise<RestApp> {
  const app: RestApp = Fastify({
    logger,
    logController: new LogController({ disableRequestLogging: true }), // logRequests does
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
    },
    return503OnClosing: false, // closeGracefully ends connections instead
    routerOptions: { maxParamLength: LONGEST_PATH },
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    frameworkErrors: answerError,
    schemaController: schemaController!,
    clientErrorHandler: (error, socket) => void socket.end(answerToNoRequest(error)),
  });
  app.setErrorHandler(answerError);
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  readJsonBodies(app);
  logRequests(app);
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
    if (await database.isReady()) return { status: "ok" };
    throw new GabbroError("UNAVAILABLE", "The database does not answer.", {
      headers: { "retry-after": "1" },
    });
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

/** On closing, requests in flight get their answers within the grace; connections without one end at once. */
function closeGracefully(app: RestApp, database: Database): void {
  // Node.js does not count a connection that has not sent anything yet as idle, and browsers open such in advance.
  const unused = new Set<Socket>();
  app.server.on("connection", (socket) => {
    unused.add(socket);
    socket.once("data", () => unused.delete(socket));
    socket.once("close", () => unused.delete(socket));
  });
  let isClosing = false;
  app.addHook("onSend", (_, reply, __, done) => {
    if (isClosing) reply.header("connection", "close");
    done();
  });
  app.addHook("preClose", async () => {
    isClosing = true;
    database.announcements.close(); // subscriptions would else never end
    for (const socket of unused) socket.destroy();
    // Node.js closes what is idle now; this closes what falls idle later, such as after a long answer.
    const sweep = setInterval(() => app.server.closeIdleConnections(), 100);
    const end = setTimeout(() => app.server.closeAllConnections(), GRACE_MS);
    app.server.once("close", () => {
      clearInterval(sweep);
      clearTimeout(end);
    });
  });
  app.addHook("onClose", () => database.close());
}
