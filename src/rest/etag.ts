import { createCache } from "../database/cache.ts";
import { runWithPauses } from "../database/pauses.ts";
import { etagOf } from "../etag.ts";
import type { App } from "../http/app.ts";
import { writeJson } from "../limits/jsonText.ts";
import { authorize } from "../workspaces/resolvers.ts";

interface Answer {
  body: string;
  etag: string;
}

/** Hashing a longer text takes a turn of its own: 32 MB take 20 to 130 ms. */
const MAX_CHARACTERS_WITHIN_TURN = 1024 * 1024;

const answerCache = createCache<Answer>();

/**
 * Caches the answers of the GET routes registered after it until anything may have changed, and answers 304 to a client
 * whose `ETag` still holds. For routes that need the scope `read` and whose answers follow from the address alone. Unlike
 * `@fastify/etag`, it hashes an answer once, not for each request.
 */
export function cacheWithEtags(app: App): void {
  app.addHook("onRoute", (route) => {
    if (route.method !== "GET" && route.method !== "HEAD") return;
    const { handler } = route;
    route.handler = async function (request, reply) {
      const { url, context, headers } = request;
      const workspaceId = authorize(context, "read");
      const answer = await answerCache(context.database, { workspaceId, key: url }, async () => {
        const value = await handler.call(this, request, reply);
        const body = await runWithPauses(context, workspaceId, writeJson(value));
        if (body.length > MAX_CHARACTERS_WITHIN_TURN) await context.database.turn(workspaceId);
        return { body, etag: etagOf(body) };
      });
      const { body, etag } = answer!;
      request.answer = answer!;
      reply.header("etag", etag);
      if (matchesEtag(etag, headers["if-none-match"])) return reply.status(304).send();
      return reply.type("application/json; charset=utf-8").send(body);
    };
  });
}

/** Whether a header `If-None-Match` contains the tag of an answer. */
export function matchesEtag(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  const quoted = etag.replace(/^W\//, ""); // weak tags and strong ones are compared alike, and none has a quote in it
  return ifNoneMatch.includes(quoted) || ifNoneMatch.trim() === "*";
}
