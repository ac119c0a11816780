import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import type { App, FastifyReply, FastifyRequest } from "../http/app.ts";
import { clientOf } from "./client.ts";
import { masked, recordRejected, storeRejected } from "./recording.resolvers.ts";

const STORE_INTERVAL_MS = 1_000;

interface RejectionOptions {
  database: Database;
  contextOf: (request: FastifyRequest, reply: FastifyReply) => Promise<Context>;
}

/**
 * Records what authenticated clients send and Gabbro answers with 4xx; stores it every second, and when `app` closes, for
 * which the database must still be open.
 */
export function recordRejections(app: App, { database, contextOf }: RejectionOptions): void {
  storeRegularly(app, database);
  app.addHook("onResponse", (request, reply, done) => {
    const endpoint = isRejected(reply) ? endpointOf(request) : undefined;
    if (endpoint === undefined) return done();
    const { context, url } = request;
    const [path] = url.split("?", 1);
    if (context?.access) record(database, context.access.workspaceId, request, endpoint);
    else if (endpoint === UNROUTED && request.headers.authorization !== undefined)
      // It was refused before its token was looked up.
      database.track(
        contextOf(request, reply).then(
          ({ access }) => record(database, access!.workspaceId, request, `${request.method} ${path}`),
          () => {}, // its token is not valid, so it belongs to no workspace
        ),
      );
    done();
  });
}

function storeRegularly(app: App, database: Database): void {
  let lastStore = Promise.resolve();
  const store = () => {
    const warn = (error: unknown) => app.log.warn(error, "cannot store what was rejected");
    lastStore = lastStore.then(() => storeRejected(database)).catch(warn);
    return lastStore;
  };
  const timer = setInterval(() => database.track(store()), STORE_INTERVAL_MS).unref();
  app.addHook("onClose", async () => {
    clearInterval(timer);
    await store();
  });
}

/** Whether an answer says that the request was wrong. */
export const isRejected = ({ statusCode }: FastifyReply) => statusCode >= 400 && statusCode < 500;

/** The endpoint of requests that have no route. */
const UNROUTED = "(none)";
const SENDS = new Set(["POST", "PUT"]);
/** The routes by which clients send data. */
const INGEST = /^\/$|^\/(?:monitor|files|v1|api\/public)\/|^\/datasets\/:slug\/items$/;

/** Where a client sent data: method and route, never text of the client; undefined for other requests. */
export function endpointOf({ method, routeOptions, is404 }: FastifyRequest): string | undefined {
  if (!SENDS.has(method)) return undefined;
  if (is404) return UNROUTED;
  const route = routeOptions.url ?? "";
  return INGEST.test(route) ? `${method} ${route}` : undefined;
}

function record(database: Database, workspaceId: string, request: FastifyRequest, endpoint: string): void {
  const { headers, errorCode, errorMessage, bodyStart } = request;
  if (errorCode === undefined || errorMessage === undefined) return;
  const token = headers.authorization?.split(" ").findLast((part) => part !== "");
  const withoutToken = (text: string) => (token ? text.replaceAll(token, masked) : text);
  const client = clientOf(headers);
  recordRejected(database, workspaceId, {
    endpoint: withoutToken(endpoint),
    client: client === null ? null : withoutToken(client),
    code: errorCode,
    reason: withoutToken(errorMessage),
    sample: bodyStart ? withoutToken(bodyStart.toString("utf8", 0, SAMPLE_BYTES)) : null,
  });
}

/** More than 500 characters take, so that a token is found that begins before their end. */
const SAMPLE_BYTES = 4 * 1024;
