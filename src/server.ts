import type { Socket } from "node:net";
import cors from "@fastify/cors";
import Fastify, {
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from "fastify";
import type { Config } from "./config.ts";
import type { Access, Context } from "./context.ts";
import type { Database, EntityManager } from "./database/open.ts";
import type { Deadline } from "./deadline.ts";
import { GabbroError } from "./errors.ts";
import { playground, sendPlayground } from "./graphql/playground.ts";
import { createGraphqlHandler } from "./graphql/yoga.ts";
import { exposeMetrics } from "./metrics/metrics.ts";
import { protect } from "./protection.ts";
import { limitRates } from "./rateLimits.ts";
import { logRequests, requestIdOf, traced } from "./requestLog.ts";
import { answerError, answerToNoRequest, refuseUnrouted } from "./rest/answers.ts";
import type { RestApp } from "./rest/app.ts";
import { readJsonBodies } from "./rest/body.ts";
import { compressAnswers } from "./rest/compression.ts";
import { openApi, type Pages } from "./rest/openapi.ts";
import { restRoutes, schemaController } from "./rest/routes.ts";
import { limitTime } from "./timeLimit.ts";
import { forgetOldAnswers } from "./workspaces/idempotency.resolvers.ts";
import { createAuthenticate } from "./workspaces/resolvers.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const LONGEST_PATH = 16 * 1024; // what Node.js takes for all headers together
const TIME_LIMIT_MS = 10_000;
const FORGETTING_INTERVAL_MS = 60_000;
const GRACE_MS = 10_000;
// Who sends slower than this is cut off, so that slow senders cannot hold connections for ever.
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;

/** What the server is told of the configuration. */
export interface Settings
  extends Partial<
    Pick<Config, "corsOrigins" | "rateLimits" | "trustedProxies" | "metricsToken" | "playground">
  > {
  /** How long the work for a request may take. */
  timeLimitMs?: number;
}

/**
 * Makes the server of both doors over a migrated database; it does not listen yet. Closing it lets requests in flight
 * finish, then closes the database.
 */
export async function createServer(
  database: Database,
  settings: Settings,
  logger: FastifyServerOptions["logger"],
): Promise<RestApp> {
  const { corsOrigins = [], trustedProxies = [], timeLimitMs = TIME_LIMIT_MS } = settings;
  const pages = settings.playground === false ? "left out" : "served";
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
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    childLoggerFactory: traced,
    frameworkErrors: answerError,
    schemaController: schemaController!,
    clientErrorHandler: (error, socket) => void socket.end(answerToNoRequest(error)),
  });
  app.setErrorHandler(answerError);
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  readJsonBodies(app);
  logRequests(app);
  protect(app);
  if (corsOrigins.length > 0)
    await app.register(cors, {
      origin: corsOrigins.includes("*") ? "*" : corsOrigins,
      strictPreflight: false,
    });
  if (settings.rateLimits) await limitRates(app, settings.rateLimits);
  refuseUnrouted(app);
  limitTime(app, timeLimitMs);

  const contextOf = createContextOf(database, app);
  compressAnswers(app);
  await openApi(app, pages);
  healthRoutes(app, database);
  if (settings.metricsToken) exposeMetrics(app, database, settings.metricsToken);
  await app.register((routes: RestApp) => restRoutes(routes, contextOf));
  await app.register((routes: RestApp) => graphqlRoutes(routes, contextOf, pages));
  forgetRegularly(app, database);
  closeGracefully(app, database);
  return app;
}

function createContextOf(database: Database, { log }: RestApp) {
  const authenticate = createAuthenticate(database, log);
  return async ({ headers, deadline }: FastifyRequest): Promise<Context> => {
    const askAgain = () => authenticate(headers.authorization);
    return new RequestContext(database, await askAgain(), askAgain, deadline);
  };
}

class RequestContext implements Context {
  readonly database: Database;
  readonly access: Access | null;
  readonly askAgain: Context["askAgain"];
  readonly deadline: Deadline;
  #em: EntityManager | undefined;

  constructor(database: Database, access: Access | null, askAgain: Context["askAgain"], deadline: Deadline) {
    this.database = database;
    this.access = access;
    this.askAgain = askAgain;
    this.deadline = deadline;
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

async function graphqlRoutes(
  app: RestApp,
  contextOf: (request: FastifyRequest) => Promise<Context>,
  pages: Pages,
): Promise<void> {
  const handle = createGraphqlHandler();
  const sendPage = pages === "served" ? sendPlayground : sendNothing;
  app.route({
    method: ["GET", "POST"],
    url: "/graphql",
    exposeHeadRoute: false,
    schema: { hide: true },
    onRequest: async (request) => {
      request.context = await contextOf(request);
    },
    handler: (request, reply) =>
      isFromBrowser(request) ? sendPage(request, reply) : handle(request, reply, request.context),
  });
  if (pages === "served") await playground(app);
}

function sendNothing(_: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.callNotFound() as unknown as FastifyReply;
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
