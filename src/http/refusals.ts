import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type ErrorCode, errorStatus, GabbroError } from "../errors.ts";
import type { App } from "./app.ts";
import { isStopped } from "./slices.ts";
import { discardBody } from "./unreadBodies.ts";

/** Encodes an error for the routes of another protocol. */
export type ErrorBody = (
  error: GabbroError,
  request: Pick<FastifyRequest, "headers">,
) => { type: string; body: Buffer };

const CODE: ErrorCode = "UNAVAILABLE";
const MESSAGE = "The service is overloaded. Send the request again in a moment.";
const RETRY_AFTER = { "retry-after": "1" };

const GRAPHQL = /^\/graphql(?:\?|$)/;

const restRefusal = refusalOf({ error: MESSAGE, code: CODE });
const graphqlRefusal = refusalOf({ errors: [{ message: MESSAGE, extensions: { code: CODE } }] });

function refusalOf(error: object) {
  return encodedRefusal("application/json; charset=utf-8", JSON.stringify(error));
}

function encodedRefusal(type: string, body: string | Buffer) {
  const headers = {
    ...RETRY_AFTER,
    "content-type": type,
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return { headers: Object.entries(headers).flat(), body };
}

/** Refuses a request in the form of its API, on the raw response, as this happens thousands of times a second. */
export function refuse(
  request: Pick<FastifyRequest, "headers" | "url">,
  response: ServerResponse,
  { corsOrigins, errorBody }: { corsOrigins: string[]; errorBody?: ErrorBody },
): void {
  const { url, headers } = request;
  const { headers: refusalHeaders, body } = errorBody
    ? ofProtocol(errorBody(refusalError(), request))
    : GRAPHQL.test(url)
      ? graphqlRefusal
      : restRefusal;
  // Without this header, a page of another origin cannot read the answer.
  const allowOrigin = corsOrigins.find((origin) => origin === "*" || origin === headers.origin);
  const allHeaders = allowOrigin
    ? [...refusalHeaders, "access-control-allow-origin", allowOrigin, "vary", "Origin"]
    : refusalHeaders;
  response.writeHead(errorStatus[CODE], allHeaders);
  response.end(body);
}

const ofProtocol = ({ type, body }: ReturnType<ErrorBody>) => encodedRefusal(type, body);

/** The same refusal as an error, for a request whose body is arriving. */
export function refusalError(): GabbroError {
  return new GabbroError(CODE, MESSAGE, { headers: RETRY_AFTER });
}

const HEADERS_TOO_LARGE =
  "The headers and the path have more than 16 kB together, or there are more than 100 headers. Send less.";

/** Thousands of connections may do so in one turn of the event loop: they send too slowly, end in the middle, or break off. */
const WITHOUT_ANSWER = /^(?:ERR_HTTP_REQUEST_TIMEOUT|HPE_INVALID_EOF_STATE|ECONNRESET)$/;

/** Answers bytes that are not HTTP, by hand because Node.js made no request of them. */
export function answerNoRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (WITHOUT_ANSWER.test(error.code ?? "")) return void socket.destroy();
  if (isStopped(socket)) return; // the answer of its request follows
  const tooLarge = error.code === "HPE_HEADER_OVERFLOW";
  const refusal = tooLarge
    ? new GabbroError("HEADERS_TOO_LARGE", HEADERS_TOO_LARGE)
    : new GabbroError("BAD_REQUEST", "The request is not valid HTTP.");
  const body = JSON.stringify({ error: refusal.message, code: refusal.code });
  const status = tooLarge ? "431 Request Header Fields Too Large" : "400 Bad Request";
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

const REPORT_INTERVAL_MS = 1_000;
/**
 * A refusal takes 45 microseconds. Without a delay, a thousand callers who retry at once are refused 10,000 times a second,
 * and the service serves a fifth of its capacity; after 250 ms it serves 70 %, after 500 ms 78 % (docs/internals/decisions.md).
 */
const REFUSAL_DELAY_MS = 500;
/** 2,000 a second: 3,900 connections that ask again as soon as they are refused had nobody else served at all. */
const MAX_REFUSALS_AT_ONCE = 50;
const BETWEEN_REFUSALS_MS = 25;

type Response = Pick<ServerResponse, "closed">;

interface Waiting {
  response: Response;
  dueMs: number;
  respond: () => void;
}

/**
 * Calls back after the delay of refusals, in the order of the calls and a few at once. At most one waits for each open connection, and
 * those of closed ones for as long as it takes to refuse these.
 */
export function createDelay(): (response: Response, respond: () => void) => void {
  let waiting: Waiting[] = [];
  let isScheduled = false;
  const schedule = () => {
    const [next] = waiting;
    if (!next || isScheduled) return;
    isScheduled = true;
    setTimeout(respondNext, Math.max(BETWEEN_REFUSALS_MS, next.dueMs - performance.now()));
  };
  const respondNext = () => {
    isScheduled = false;
    const nowMs = performance.now();
    const due: Waiting[] = [];
    let taken = 0;
    for (const next of waiting) {
      if (next.dueMs > nowMs || due.length === MAX_REFUSALS_AT_ONCE) break;
      taken += 1;
      if (!next.response.closed) due.push(next);
    }
    waiting = waiting.slice(taken);
    schedule();
    for (const { respond } of due) respond();
  };
  return (response, respond) => {
    waiting.push({ response, dueMs: performance.now() + REFUSAL_DELAY_MS, respond });
    schedule();
  };
}

/** Refuses requests, and counts them. */
export function createRefusals(corsOrigins: string[]) {
  const delay = createDelay();
  let total = 0;
  let unreported = 0;
  let app: App;
  /** Logs the number once a second: a line for each refusal would cost as much as serving the request. */
  const count = () => {
    total += 1;
    unreported += 1;
    if (unreported > 1) return;
    setTimeout(() => {
      app.log.warn({ refused: unreported }, "overloaded: requests were refused");
      unreported = 0;
    }, REPORT_INTERVAL_MS).unref();
  };
  return {
    watch: (newApp: App) => {
      app = newApp;
    },
    count: () => total,
    /** Answers after a delay, without the hooks of Fastify, which cost twice as much. */
    answer: (request: FastifyRequest, reply: FastifyReply) => {
      count();
      request.isRefused = true;
      request.errorCode = "UNAVAILABLE";
      reply.hijack();
      discardBody(request.raw, request.routeOptions.config.keepsBytes);
      delay(reply.raw, () => {
        if (app.isStopping() || isStopped(request.raw.socket)) reply.raw.setHeader("connection", "close");
        const { errorBody } = request.routeOptions.config;
        refuse(request, reply.raw, { corsOrigins, ...(errorBody && { errorBody }) });
      });
    },
    /** The error that refuses a request whose body is arriving; counts it as a refusal. */
    error: () => {
      count();
      return refusalError();
    },
  };
}
