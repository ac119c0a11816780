import type { App, FastifyReply, FastifyRequest } from "../http/app.ts";
import { chooseEncoding } from "../http/compression.ts";
import type { BuiltConsole } from "./files.ts";

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/** Serves the built console: one page for all its addresses, and the files that the page names. */
export function consolePages(app: App, { page, assets }: BuiltConsole): void {
  const hidden = { schema: { hide: true } };
  const sendPage = (request: FastifyRequest, reply: FastifyReply) => {
    reply.header("vary", `${reply.getHeader("vary")}, Accept`);
    if (!request.headers.accept?.includes("text/html")) return reply.callNotFound();
    return reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", policy)
      .header("cache-control", "no-store")
      .send(page);
  };
  app.get("/console", hidden, sendPage);
  app.get("/console/*", hidden, sendPage);
  app.get("/console/assets/:name", hidden, (request, reply) => {
    const asset = assets.get((request.params as { name: string }).name);
    if (!asset) return reply.callNotFound();
    const offered = (["br", "gzip"] as const).filter((encoding) => asset[encoding]);
    const encoding = chooseEncoding(request.headers["accept-encoding"], offered);
    if (encoding) reply.header("content-encoding", encoding);
    return reply
      .type(asset.type)
      .header("cache-control", "public, max-age=31536000, immutable")
      .header("vary", "Accept-Encoding") // the answer is the same for every caller
      .send(asset[encoding ?? "identity"]);
  });
}
