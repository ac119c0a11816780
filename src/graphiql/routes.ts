import type {} from "@fastify/swagger";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { chooseEncoding } from "../http/compression.ts";
import { matchesEtag } from "../rest/etag.ts";
import { assetsVersion, readAsset } from "./assets.ts";
import { playgroundPage } from "./page.ts";

import { type AssetName, sources } from "./sources.ts";

/** Serves the assets of the page: GraphiQL, its workers, and our few lines around it. */
export async function playground(app: FastifyInstance): Promise<void> {
  app.get("/graphql/assets/:name", { schema: { hide: true } }, sendAsset);
}

/** Answers GET /graphql for a browser. */
export function sendPlayground(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .header("content-security-policy", pagePolicy)
    .header("cache-control", "no-cache")
    .header("vary", `${reply.getHeader("vary")}, Accept`)
    .header("x-content-type-options", "nosniff")
    .header("referrer-policy", "no-referrer")
    .send(page);
}

const page = playgroundPage();

const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  // The editor positions its parts by style attributes and style elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

async function sendAsset(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { name } = request.params as { name: string };
  if (!isAssetName(name)) {
    reply.callNotFound();
    return reply;
  }
  const encoding = chooseEncoding(request.headers["accept-encoding"], ["br", "gzip"]) ?? "identity";
  const etag = `"${assetsVersion}-${encoding}"`;
  const isFresh = matchesEtag(etag, request.headers["if-none-match"]);
  // Before any header is set, as the browser must not cache the answer to a failure.
  const body = isFresh ? null : await readAsset(name, encoding);
  const { v: version } = request.query as { v?: string };
  reply
    .header("cache-control", version === assetsVersion ? "public, max-age=31536000, immutable" : "no-cache")
    .header("etag", etag)
    .header("x-content-type-options", "nosniff");
  if (isFresh) return reply.code(304).send();
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.type(sources[name].type).header("content-security-policy", "default-src 'none'").send(body);
}

function isAssetName(name: string): name is AssetName {
  return Object.hasOwn(sources, name);
}
