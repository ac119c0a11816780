import type { FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../http/app.ts";
import type { Documented, Pages } from "./document.ts";

/** What the connection says for itself. */
const OF_CONNECTION = new Set(["connection", "keep-alive", "date", "content-length", "transfer-encoding"]);

/**
 * Collects the routes registered after it into `GET /openapi.json`, which `GET /docs` shows in the browser. What makes them
 * is loaded by the first request for either: it would delay every start.
 */
export function openApi(app: App, pages: Pages): void {
  const routes: Documented[] = [];
  app.addHook("onRoute", ({ method, url, schema }) => {
    const isHidden = (schema as { hide?: boolean } | undefined)?.hide;
    if (!isHidden && method !== "HEAD") routes.push({ method, url, ...(schema && { schema }) });
  });
  let loading: Promise<App> | undefined;
  const load = async () => {
    try {
      return await (await import("./document.ts")).createDocument(routes, pages);
    } catch (error) {
      loading = undefined; // for the next request to try again
      throw error;
    }
  };
  const answer = async ({ method, raw, headers }: FastifyRequest, reply: FastifyReply) => {
    loading ??= load();
    const made = await (await loading).inject({ method: method as "GET", url: raw.url!, headers });
    if (made.statusCode === 404) return reply.callNotFound();
    reply.header("cache-control", "no-cache");
    for (const [name, value] of Object.entries(made.headers))
      if (!OF_CONNECTION.has(name) && value !== undefined) reply.header(name, value);
    const isJson = `${made.headers["content-type"]}`.includes("json"); // which is compressed as text
    return reply.status(made.statusCode).send(isJson ? made.payload : made.rawPayload);
  };
  const paths = ["/openapi.json", ...(pages === "served" ? ["/docs", "/docs/", "/docs/*"] : [])];
  for (const path of paths) app.get(path, { schema: { hide: true } }, answer);
}
