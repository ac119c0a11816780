import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, GabbroError, internalError } from "../errors.ts";
import { discardBody } from "./unreadBodies.ts";

const GRAPHQL_PATH = /^\/graphql(?:\?|$)/;

type ErrorHandler = (error: FastifyError | GabbroError, request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Makes the handler that writes the bodies of all errors, in the form of the API that was called. `translate` converts the
 * errors of lower layers; any other error becomes INTERNAL and is logged in full with the id of the request.
 */
export function createErrorHandler(translate: (error: unknown) => GabbroError | undefined): ErrorHandler {
  const toExpected = (error: FastifyError | GabbroError) =>
    error instanceof GabbroError ? error : (toHttpError(error) ?? translate(error));
  return (error, request, reply) => {
    const isClosed = reply.raw.destroyed && isBrokenOff(error);
    const expected = isClosed ? closedByClient() : toExpected(error);
    sendError(expected ?? internalError(request.id, error), request, reply);
  };
}

/**
 * Handles the errors of requests that no hook sees, such as those with an invalid URL: the hooks would discard their bodies, and
 * have them wait. When hundreds were answered in one turn of the event loop, others waited for 0.3 to 0.9 s.
 */
export const beforeHooks =
  (handle: ErrorHandler, inTurn: (work: () => void) => void): ErrorHandler =>
  (error, request, reply) => {
    discardBody(request.raw);
    inTurn(() => handle(error, request, reply));
  };

/** Whether a connection closed before the whole response was sent, or before the whole body had arrived. */
const isBrokenOff = ({ code, message }: FastifyError | GabbroError): boolean =>
  code === "ERR_STREAM_PREMATURE_CLOSE" || (code === "ECONNRESET" && message === "aborted");

/** Nobody receives this error; it keeps callers from filling the log by closing connections. */
function closedByClient(): GabbroError {
  return new GabbroError("BAD_REQUEST", "The connection was closed before the request was answered.");
}

function sendError(error: GabbroError, request: FastifyRequest, reply: FastifyReply): void {
  const { message, code, details, status, headers, cause } = error;
  if (status >= 500) request.log.error(cause ?? error, "a request failed");
  request.errorCode = code;
  request.errorMessage = message;
  if (code === "BODY_TOO_LARGE") reply.removeHeader("connection"); // the rest of the body is discarded
  reply.removeHeader("content-encoding"); // of a response that failed before its first byte
  reply.status(status).headers(headers);
  const { errorBody } = request.routeOptions?.config ?? {};
  if (errorBody) {
    const encoded = errorBody(error, request);
    return void reply.type(encoded.type).send(encoded.body);
  }
  const body = GRAPHQL_PATH.test(request.url)
    ? { errors: [{ message, extensions: { code, ...(details && { details }) } }] }
    : { error: message, code, ...(details && { details }) };
  void reply.type("application/json; charset=utf-8").send(JSON.stringify(body));
}

/**
 * Refuses requests without a matching route before their bodies are read: METHOD_NOT_ALLOWED with the methods of the path,
 * or ROUTE_NOT_FOUND. Call it before the routes are registered.
 */
export function refuseUnrouted(app: FastifyInstance): void {
  const routes: { segments: string[]; methods: string[] }[] = [];
  // For routes that call `callNotFound`, such as those of assets.
  app.setNotFoundHandler((request, reply) => sendError(routeNotFound(), request, reply));
  app.addHook("onRoute", ({ url, method, constraints }) => {
    if (constraints) return; // it exists for some requests only
    routes.push({ segments: url.split("/"), methods: [method].flat() });
  });
  app.addHook("onRequest", (request, _, done) => done(request.is404 ? refusalOf(request) : undefined));

  function refusalOf(request: FastifyRequest): GabbroError {
    const [pathname] = request.url.split("?", 1);
    const path = pathname!.split("/", MAX_SEGMENTS);
    const matches = routes.filter(({ segments }) => matchesPath(segments, path));
    if (matches.length === 0) return routeNotFound();
    if (isPreflight(request)) request.log.warn(NO_CORS);
    const methods = new Set(matches.flatMap((route) => route.methods));
    const allow = [...methods].toSorted().join(", ");
    const message = isPreflight(request)
      ? NO_CORS
      : `This path does not take ${request.method}; it takes ${allow}.`;
    return new GabbroError("METHOD_NOT_ALLOWED", message, { headers: { allow } });
  }
}

/** Where CORS is configured, its plugin answers these before. */
const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined;

const NO_CORS =
  "Pages of other origins may not call this server: set CORS_ORIGIN to the origin of the page, such as CORS_ORIGIN=http://localhost:5173, and restart Gabbro.";

/** More than any route has. A URLPattern would take milliseconds per route for a path of 15 kB. */
const MAX_SEGMENTS = 16;

/** Whether a route such as `/prompts/:slug` or `/docs/*` matches a path; both are given as segments. */
function matchesPath(route: string[], path: string[]): boolean {
  const hasRest = route.at(-1) === "*";
  if (hasRest ? path.length < route.length : path.length !== route.length) return false;
  return route.every(
    (segment, n) => segment === path[n] || segment === "*" || (segment.startsWith(":") && path[n] !== ""),
  );
}

function routeNotFound(): GabbroError {
  const message =
    "There is nothing at this path. GET /openapi.json lists the paths of REST; GraphQL is at /graphql.";
  return new GabbroError("ROUTE_NOT_FOUND", message);
}

const httpErrors: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    "UNSUPPORTED_MEDIA_TYPE",
    "The body must be JSON: send it with the header Content-Type: application/json.",
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: ["BODY_TOO_LARGE", "The body is larger than 10 MB. Send less at once."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["BAD_REQUEST", "The body is not as long as its Content-Length says."],
  FST_ERR_BAD_URL: ["BAD_REQUEST", "The path is not a valid URL: check its percent-encoding."],
};

/** The GabbroError for an error that Fastify found in a request; undefined for errors of the server. */
function toHttpError(error: FastifyError): GabbroError | undefined {
  const codeAndMessage = httpErrors[error.code];
  if (codeAndMessage) return new GabbroError(...codeAndMessage);
  const isOfCaller = error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500;
  return isOfCaller
    ? new GabbroError("BAD_REQUEST", "The request is not valid HTTP for this server.")
    : undefined;
}
