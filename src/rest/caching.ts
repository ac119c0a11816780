import etag from "@fastify/etag";
import type { RestApp } from "./app.ts";

/**
 * Gives the answers of the routes that are registered after it an `ETag`, and answers 304 to who has them already.
 * Only for routes that read.
 */
export async function answerOnlyChanges(app: RestApp): Promise<void> {
  await app.register(etag, { replyWith304: false }); // the plugin knows neither lists of tags nor statuses
  app.addHook("onSend", async (request, reply, payload) => {
    const tag = reply.getHeader("etag");
    if (
      reply.statusCode !== 200 ||
      typeof tag !== "string" ||
      !isKnown(tag, request.headers["if-none-match"])
    ) {
      return payload;
    }
    reply.status(304).removeHeader("content-type").removeHeader("content-length");
    return "";
  });
}

function isKnown(tag: string, ifNoneMatch = ""): boolean {
  const weakened = (one: string) => one.trim().replace(/^W\//, "");
  return ifNoneMatch.split(",").some((known) => ["*", weakened(tag)].includes(weakened(known)));
}
