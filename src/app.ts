import cors from "@fastify/cors";
import { parse } from "fast-querystring";
import Fastify, { type FastifyServerOptions, LogController } from "fastify";
import type { Config } from "./config.ts";
import { buildStaleConsole } from "./console/build.ts";
import { readBuiltConsole } from "./console/files.ts";
import { consoleRoutes } from "./console/routes.ts";
import { unavailable, withoutParameters } from "./database/driverErrors.ts";
import type { Database } from "./database/open.ts";
import { createReadiness } from "./database/readiness.ts";
import { graphqlRoutes } from "./graphql/routes.ts";
import type { App } from "./http/app.ts";
import { compressResponses } from "./http/compression.ts";
import { beforeHooks, createErrorHandler, refuseUnrouted } from "./http/errorHandler.ts";
import { healthRoutes } from "./http/health.ts";
import { homePage } from "./http/homePage.ts";
import { parseJsonBodies } from "./http/jsonBody.ts";
import { createLimiter, type Limits } from "./http/limiter.ts";
import { logRequests, requestIdOf, toLogged, traced } from "./http/logging.ts";
import { trustsProxies } from "./http/origin.ts";
import { limitRates } from "./http/rateLimits.ts";
import { answerNoRequest } from "./http/refusals.ts";
import { addSecurityHeaders } from "./http/securityHeaders.ts";
import { type ClientLimits, createHttpServer } from "./http/server.ts";
import { closeGracefully } from "./http/shutdown.ts";
import { addTimeout } from "./http/timeout.ts";
import { recordRejections } from "./inbox/rest.ts";
import { offerGrpc } from "./logs/otlp/grpc.ts";
import { otlpRoutes } from "./logs/otlp/http.ts";
import { cleanUpRegularly } from "./maintenance.ts";
import { exposeMetrics } from "./metrics/metrics.ts";
import { countOtlpSpans } from "./metrics/otlpSpans.ts";
import { createContexts } from "./requestContext.ts";
import { openApi } from "./rest/openapi.ts";
import { schemaController } from "./rest/schemas.ts";
import { restRoutes } from "./routes.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_PATH_CHARACTERS = 16 * 1024; // the limit of Node.js for all headers together
/** More than any route takes. A query of 16 kB has 8,000, which take 2 ms, before any limit applies. */
const MAX_PARAMETERS = 100;
const TIME_LIMIT_MS = 10_000;
const ROUTER = {
  maxParamLength: MAX_PATH_CHARACTERS,
  // The parser of Node.js throws and catches an error for each escape that is not UTF-8: 200 of them took 3 ms.
  querystringParser: (query: string) => parse(query.split("&", MAX_PARAMETERS).join("&")),
};
const CORS = {
  methods: ["GET", "HEAD", "POST", "PUT"],
  /** The response headers that scripts of other origins may read. */
  exposedHeaders: ["ETag", "Retry-After", "Idempotent-Replayed", "Gabbro-Deprecated", "X-Request-Id"],
  strictPreflight: false,
};

/** The part of the configuration that the app needs, and its limits. */
export interface AppOptions
  extends Partial<
    Pick<
      Config,
      | ("corsOrigins" | "rateLimits" | "trustedProxies" | "metricsToken" | "playground" | "console")
      | "retentionDays"
    >
  > {
  /** Whether to build the console first, where its sources are newer. */
  buildsConsole?: boolean;
  /** The request timeout. */
  timeLimitMs?: number;
  /** How long requests in flight may take after the service is closed. */
  graceMs?: number;
  limits?: Partial<Limits>;
  clientLimits?: Partial<ClientLimits>;
}

/**
 * Creates the server of both APIs over a migrated database; it does not listen yet. Closing it lets requests in flight
 * finish, then closes the database.
 */
export async function createApp(
  database: Database,
  options: AppOptions,
  logger: FastifyServerOptions["logger"],
): Promise<App> {
  const { corsOrigins = [], trustedProxies = [], retentionDays = null } = options;
  const { timeLimitMs = TIME_LIMIT_MS, limits = {}, clientLimits = {} } = options;
  const pages = options.playground === false ? "left out" : "served";
  const limiter = createLimiter(limits, corsOrigins);
  const handleError = createErrorHandler(unavailable);
  const app: App = Fastify({
    logger: withoutSecrets(logger),
    logController: new LogController({ disableRequestLogging: true }), // logRequests does
    bodyLimit: MAX_BODY_BYTES,
    serverFactory: (handle, server) => createHttpServer(handle, server, clientLimits),
    return503OnClosing: false, // closeGracefully ends connections instead
    routerOptions: ROUTER,
    trustProxy: trustedProxies.length > 0 && trustsProxies(trustedProxies),
    requestIdHeader: false,
    genReqId: ({ headers }) => requestIdOf(headers["x-request-id"]),
    childLoggerFactory: traced,
    frameworkErrors: beforeHooks(handleError, limiter.inTurn),
    schemaController: schemaController!,
    clientErrorHandler: answerNoRequest,
  });
  app.setErrorHandler(handleError);
  parseJsonBodies(app);
  logRequests(app);
  addSecurityHeaders(app);
  const taken = options.console ? "sessions" : "tokens alone";
  const contexts = createContexts(database, app.log, { graphqlTakes: taken, retentionDays });
  limiter.watch(app, contexts.lastWorkspaceOf);
  if (corsOrigins.length > 0) await allowOrigins(app, corsOrigins);
  if (options.rateLimits) await limitRates(app, options.rateLimits);
  if (options.console && options.buildsConsole) await buildStaleConsole(app.log);
  const built = options.console ? await readBuiltConsole(app.log) : null;
  // Before refuseUnrouted, which must not know the path: it is not for programs.
  if (built || pages === "served") homePage(app, built ? "link to console" : "page");
  refuseUnrouted(app);
  addTimeout(app, timeLimitMs);
  const otlp = { contextOf: contexts.ofToken, limiter, counts: countOtlpSpans() };
  closeAlong(app, database);
  recordRejections(app, { database, contextOf: contexts.ofToken });
  compressResponses(app);
  openApi(app, pages);
  healthRoutes(app, createReadiness(database));
  if (options.metricsToken)
    exposeMetrics(app, { database, limiter, otlpSpans: otlp.counts }, options.metricsToken);
  await app.register((routes: App) => restRoutes(routes, database, contexts.ofToken));
  await app.register(async (routes: App) => otlpRoutes(routes, otlp));
  await app.register((routes: App) => graphqlRoutes(routes, contexts.ofGraphql, pages));
  if (options.console) consoleRoutes(app, { built, contextOf: contexts.ofSession, database });
  cleanUpRegularly(app, database, retentionDays);
  closeGracefully(app, options.graceMs);
  offerGrpc(app, otlp, options.graceMs);
  return app;
}

/** Closes the database after what is added later: the last hook runs first. */
function closeAlong(app: App, database: Database): void {
  app.addHook("preClose", async () => {
    database.pubSub.close(); // or else subscriptions would never end
    database.longWork.abort();
  });
  app.addHook("onClose", () => database.close());
}

/** The options of a logger that logs no parameters of statements. */
function withoutSecrets(logger: FastifyServerOptions["logger"]): FastifyServerOptions["logger"] {
  return (
    logger && {
      ...(logger === true ? {} : logger),
      serializers: { err: (error: Error) => toLogged(withoutParameters(error)) },
    }
  );
}

async function allowOrigins(app: App, origins: string[]): Promise<void> {
  await app.register(cors, { origin: origins.includes("*") ? "*" : origins, ...CORS });
}
