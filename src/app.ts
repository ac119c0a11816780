import cors from "@fastify/cors";
import Fastify, {
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from "fastify";
import type { Config } from "./config.ts";
import type { Access, Context } from "./context.ts";
import { unavailable, withoutRows } from "./database/driverErrors.ts";
import type { Database, EntityManager } from "./database/open.ts";
import { removeDeletedDatasets } from "./datasets/removal.resolvers.ts";
import { GabbroError } from "./errors.ts";
import { playground, sendPlayground } from "./graphiql/routes.ts";
import { createGraphqlHandler } from "./graphql/handler.ts";
import type { App } from "./http/app.ts";
import { compressAnswers } from "./http/compression.ts";
import { createErrorHandler, refuseUnrouted } from "./http/errorHandler.ts";
import { readJsonBodies } from "./http/jsonBody.ts";
import { createLimiter, type Limits } from "./http/limiter.ts";
import { logRequests, requestIdOf, toLogged, traced } from "./http/logging.ts";
import { limitRates } from "./http/rateLimits.ts";
import { answerToNoRequest } from "./http/refusals.ts";
import { protect } from "./http/securityHeaders.ts";
import { createHttpServer, PATIENCE, type Patience } from "./http/server.ts";
import { closeGracefully } from "./http/shutdown.ts";
import { limitTime } from "./http/timeout.ts";
import { type AnswerBudget, newAnswerBudget } from "./limits/answerBudget.ts";
import { createAnswerMemory } from "./limits/answerMemory.ts";
import type { Deadline } from "./limits/deadline.ts";
import { exposeMetrics } from "./metrics/metrics.ts";
import type { Pages } from "./rest/document.ts";
import { openApi } from "./rest/openapi.ts";
import { schemaController } from "./rest/schemas.ts";
import { restRoutes } from "./routes.ts";
import { forgetOldAnswers } from "./workspaces/idempotency.resolvers.ts";
import { authenticated, createAuthenticate } from "./workspaces/resolvers.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const LONGEST_PATH = 16 * 1024; // what Node.js takes for all headers together
const TIME_LIMIT_MS = 10_000;
const CLEARING_INTERVAL_MS = 60_000;

/** What the server is told of the configuration. */
export interface Settings
  extends Partial<
    Pick<Config, "corsOrigins" | "rateLimits" | "trustedProxies" | "metricsToken" | "playground">
  > {
  /** How long the work for a request may take. */
  timeLimitMs?: number;
  /** How long requests in flight may take once the service is closed. */
  graceMs?: number;
  limits?: Partial<Limits>;
  patience?: Partial<Patience>;
}

/**
 * Makes the server of both doors over a migrated database; it does not listen yet. Closing it lets requests in flight
 * finish, then closes the database.
 */
export async function createApp(
  database: Database,
  settings: Settings,
  logger: FastifyServerOptions["logger"],
): Promise<App> {
  const {
    corsOrigins = [],
    trustedProxies = [],
    timeLimitMs = TIME_LIMIT_MS,
    limits = {},
    patience = {},
  } = settings;
  const pages = settings.playground === false ? "left out" : "served";
  const limiter = createLimiter(limits, corsOrigins);
  const handleError = createErrorHandler(unavailable);
  const app: App = Fastify({
    logger: logger && {
      ...(logger === true ? {} : logger),
      serializers: { err: (error: Error) => toLogged(withoutRows(error)) },
    },
    logController: new LogController({ disableRequestLogging: true }), // logRequests does
    bodyLimit: MAX_BODY_BYTES,
    serverFactory: (handle, options) => createHttpServer(handle, options, { ...PATIENCE, ...patience }),
    return503OnClosing: false, // closeGracefully ends connections instead
    routerOptions: { maxParamLength: LONGEST_PATH },
    trustProxy: trustedProxies.length > 0 && trustedProxies,
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    childLoggerFactory: traced,
    frameworkErrors: handleError,
    schemaController: schemaController!,
    clientErrorHandler: (error, socket) => void socket.end(answerToNoRequest(error)),
  });
  app.setErrorHandler(handleError);
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
  limiter.watch(app);
  limitTime(app, timeLimitMs);

  const contextOf = createContextOf(database, app);
  compressAnswers(app);
  openApi(app, pages);
  healthRoutes(app, database);
  if (settings.metricsToken) exposeMetrics(app, { database, limiter }, settings.metricsToken);
  await app.register((routes: App) => restRoutes(routes, contextOf));
  await app.register((routes: App) => graphqlRoutes(routes, contextOf, pages));
  clearRegularly(app, database);
  app.addHook("preClose", async () => database.announcements.close()); // subscriptions would else never end
  closeGracefully(app, settings.graceMs);
  app.addHook("onClose", () => database.close());
  return app;
}

function createContextOf(database: Database, app: App) {
  const authenticate = createAuthenticate(database, app.log);
  const memory = createAnswerMemory();
  return async ({ headers, deadline }: FastifyRequest, { raw }: FastifyReply): Promise<Context> => {
    const askAgain = () => authenticate(headers.authorization);
    const access = await askAgain();
    const hold = (bytes: number) => memory.hold(raw, access!.workspaceId, bytes);
    return new RequestContext(database, access, askAgain, deadline, newAnswerBudget({ hold }));
  };
}

class RequestContext implements Context {
  readonly database: Database;
  readonly access: Access | null;
  readonly askAgain: Context["askAgain"];
  readonly deadline: Deadline;
  readonly answerBudget: AnswerBudget;
  #em: EntityManager | undefined;

  constructor(
    database: Database,
    access: Access | null,
    askAgain: Context["askAgain"],
    deadline: Deadline,
    answerBudget: AnswerBudget,
  ) {
    this.database = database;
    this.access = access;
    this.askAgain = askAgain;
    this.deadline = deadline;
    this.answerBudget = answerBudget;
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
  app: App,
  contextOf: (request: FastifyRequest, reply: FastifyReply) => Promise<Context>,
  pages: Pages,
): Promise<void> {
  const handle = createGraphqlHandler();
  const sendPage = pages === "served" ? sendPlayground : sendNothing;
  app.route({
    method: ["GET", "POST"],
    url: "/graphql",
    exposeHeadRoute: false,
    schema: { hide: true },
    onRequest: async (request, reply) => {
      if (isFromBrowser(request)) return; // the page needs no token, and reads nothing
      if (request.method === "POST") reply.header("cache-control", "no-store"); // it may make an access token
      request.context = await contextOf(request, reply);
      authenticated(request.context);
    },
    handler: (request, reply) =>
      isFromBrowser(request) ? sendPage(request, reply) : handle(request, reply, request.context),
  });
  if (pages === "served") await playground(app);
}

function sendNothing(_: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply.callNotFound() as unknown as FastifyReply;
}

/** Clears away what nobody asks for any more: answers too old to be repeated, and the rows of deleted datasets. */
function clearRegularly(app: App, database: Database): void {
  const closing = new AbortController();
  let isUnderWay = false;
  const warn = (error: unknown) => app.log.warn(error, "cannot clear away what is old or deleted");
  const clear = async () => {
    isUnderWay = true;
    await forgetOldAnswers(database, closing.signal).catch(warn);
    await removeDeletedDatasets(database, closing.signal).catch(warn);
    isUnderWay = false;
  };
  const timer = setInterval(() => isUnderWay || database.track(clear()), CLEARING_INTERVAL_MS).unref();
  app.addHook("preClose", async () => {
    clearInterval(timer);
    closing.abort();
  });
}

/** A person who opens the address, not a program that sends a query with GET. */
function isFromBrowser({ method, headers, query }: FastifyRequest): boolean {
  const asksForPage = headers.accept?.includes("text/html") ?? false;
  return method === "GET" && asksForPage && !Object.hasOwn(query as object, "query");
}

function healthRoutes(app: App, database: Database): void {
  app.get("/health", { schema: { hide: true } }, async (_, reply) => {
    reply.header("cache-control", "no-store");
    return { status: "ok" };
  });
  app.get("/ready", { schema: { hide: true } }, async (_, reply) => {
    reply.header("cache-control", "no-store");
    if (!app.isStopping() && (await database.isReady())) return { status: "ok" };
    const message = app.isStopping() ? "The service is about to stop." : "The database does not answer.";
    throw new GabbroError("UNAVAILABLE", message, { headers: { "retry-after": "1" } });
  });
}
