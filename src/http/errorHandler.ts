import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, GabbroError, internalError } from "../errors.ts";

const GRAPHQL_PATH = /^\/graphql(?:\?|$)/;

type ErrorHandler = (error: FastifyError | GabbroError, request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Makes the one place that writes the body of an error, in the form of the API that was called. `translate` knows the
 * errors of what lies below; one that nobody knows is INTERNAL, and is logged whole under the id of the request.
 */
export function createErrorHandler(translate: (error: unknown) => GabbroError | undefined): ErrorHandler {
  return (error, request, reply) => {
    const known = error instanceof GabbroError ? error : (ofHttp(error) ?? translate(error));
    sendError(known ?? internalError(request.id, error), request, reply);
  };
}

function sendError(error: GabbroError, request: FastifyRequest, reply: FastifyReply): void {
  const { message, code, details, status, headers, cause } = error;
  if (status >= 500) request.log.error(cause ?? error, "a request failed");
  request.errorCode = code;
  // A client that sends all of its body before it reads must find the answer, not a connection that was cut.
  if (code === "BODY_TOO_LARGE") reply.removeHeader("connection");
  request.raw.resume();
  const body = GRAPHQL_PATH.test(request.url)
    ? { errors: [{ message, extensions: { code, ...(details && { details }) } }] }
    : { error: message, code, ...(details && { details }) };
  reply.removeHeader("content-encoding"); // of an answer that broke off before anything of it was sent
  void reply
    .status(status)
    .headers(headers)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(body));
}

/**
 * Refuses requests that no route takes, before their bodies are read: METHOD_NOT_ALLOWED with the methods that the path
 * has, else ROUTE_NOT_FOUND. Counts the routes that are registered after it.
 */
export function refuseUnrouted(app: FastifyInstance): void {
  const routes: { segments: string[]; methods: string[] }[] = [];
  // For routes that find out themselves that they have nothing, such as those of assets.
  app.setNotFoundHandler((request, reply) => sendError(routeNotFound(), request, reply));
  app.addHook("onRoute", ({ url, method }) => {
    routes.push({ segments: url.split("/"), methods: [method].flat() });
  });
  app.addHook("onRequest", (request, _, done) => done(request.is404 ? refusalOf(request) : undefined));

  function refusalOf(request: FastifyRequest): GabbroError {
    const [pathname] = request.url.split("?", 1);
    const asked = pathname!.split("/", MAX_SEGMENTS);
    const fitting = routes.filter(({ segments }) => fits(segments, asked));
    if (fitting.length === 0) return routeNotFound();
    const methods = new Set(fitting.flatMap((route) => route.methods));
    const allow = [...methods].toSorted().join(", ");
    const message = `This path does not take ${request.method}; it takes ${allow}.`;
    return new GabbroError("METHOD_NOT_ALLOWED", message, { headers: { allow } });
  }
}

/** More than any route has. A URLPattern takes milliseconds for a path of 15 kB, for each of the routes. */
const MAX_SEGMENTS = 16;

/** Whether a route such as `/prompts/:slug` or `/docs/*` takes a path, both by their segments. */
function fits(route: string[], path: string[]): boolean {
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

/** What Fastify found wrong with a request, in our words; nothing for errors that are not the caller's. */
function ofHttp(error: FastifyError): GabbroError | undefined {
  const known = httpErrors[error.code];
  if (known) return new GabbroError(...known);
  const isOfCaller = error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500;
  return isOfCaller
    ? new GabbroError("BAD_REQUEST", "The request is not valid HTTP for this server.")
    : undefined;
}
