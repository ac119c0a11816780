import type { FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../http/app.ts";
import type { DocumentedRoute, Pages } from "./document.ts";

/** Headers that belong to a connection, not to an answer. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "keep-alive",
  "date",
  "content-length",
  "transfer-encoding",
]);

const DOCUMENT_PATH = /^\/(?:openapi\.json$|docs(?:\/|$))/;

/**
 * Collects the routes registered after it into `GET /openapi.json`, which `GET /docs` shows in the browser. The first
 * request for either loads the libraries, which would delay every start.
 */
export function openApi(app: App, pages: Pages): void {
  const routes: DocumentedRoute[] = [];
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
    // As it is looked for there: "/docs/../datasets" is a path of another route.
    const path = URL.parse(raw.url!, "http://localhost")?.pathname ?? "";
    if (!DOCUMENT_PATH.test(path)) return reply.callNotFound();
    loading ??= load();
    const response = await (await loading).inject({ method: method as "GET", url: raw.url!, headers });
    if (response.statusCode === 404) return reply.callNotFound();
    reply.header("cache-control", "no-cache");
    for (const [name, value] of Object.entries(response.headers))
      if (!CONNECTION_HEADERS.has(name) && value !== undefined) reply.header(name, value);
    const isJson = `${response.headers["content-type"]}`.includes("json"); // compressed as text
    return reply.status(response.statusCode).send(isJson ? response.payload : response.rawPayload);
  };
  const paths = ["/openapi.json", ...(pages === "served" ? ["/docs", "/docs/", "/docs/*"] : [])];
  for (const path of paths) app.get(path, { schema: { hide: true } }, answer);
}
