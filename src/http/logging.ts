import { randomUUID } from "node:crypto";
import type { FastifyBaseLogger, FastifyServerOptions } from "fastify";
import pino from "pino";
import { printableLines } from "../printable.ts";
import type { App, FastifyRequest } from "./app.ts";

/** The caller's id if it is fit for a log, which a token is not; else a new one. */
export function requestIdOf(header: string | string[] | undefined): string {
  return typeof header === "string" && /^(?!gab_)[\w.-]{1,64}$/.test(header) ? header : randomUUID();
}

/** The logger of a request: its lines have the id of the request and of its trace. */
export const traced: FastifyServerOptions["childLoggerFactory"] = (
  logger,
  bindings,
  options,
  { headers },
) => {
  const traceId = traceIdOf(headers.traceparent);
  return logger.child(traceId ? { ...bindings, traceId } : bindings, options) as FastifyBaseLogger;
};

// https://www.w3.org/TR/trace-context/#traceparent-header: later versions may append fields.
const TRACEPARENT =
  /^(?!ff)[\da-f]{2}-(?!0{32})(?<traceId>[\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?<more>-.*)?$/;

function traceIdOf(traceparent: string | string[] | undefined): string | undefined {
  if (typeof traceparent !== "string") return undefined;
  const { traceId, more } = TRACEPARENT.exec(traceparent)?.groups ?? {};
  return more !== undefined && traceparent.startsWith("00") ? undefined : traceId;
}

/** Logs one line per request, with its route and its GraphQL field, never its payload, token or query string. */
export function logRequests(app: App): void {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    if (request.isRefused) return done(); // the limiter logs their number
    const route = request.routeOptions.url ?? "(none)";
    const latencyMs = Math.round(reply.elapsedTime * 100) / 100;
    const field = topFieldOf(request);
    const code = codeOf(request);
    const { method, log } = request;
    const status = reply.statusCode;
    log.info(
      { method, route, ...(field && { field }), status, ...(code && { code }), latencyMs },
      "answered",
    );
    done();
  });
}

/** The code of the error of an answer, or of the first of its errors; undefined when it has none. */
export function codeOf({ errorCode, context }: FastifyRequest): string | undefined {
  return errorCode ?? context?.errorCode;
}

/** The top-level field of a GraphQL operation; undefined at REST and for invalid operations. */
export function topFieldOf({ context }: FastifyRequest): string | undefined {
  return context?.topField;
}

/** An error for the log. Its message and stack are made printable, because a terminal shows them unescaped. */
export function toLogged(error: Error) {
  const { message, stack, ...more } = pino.stdSerializers.err(error);
  return { ...more, message: printableLines(message), stack: printableLines(stack) };
}
