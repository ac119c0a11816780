import type { FastifyReply, FastifyRequest } from "fastify";
import type { App } from "../http/app.ts";
import type { DocumentedRoute, Pages } from "./document.ts";
import { matchesEtag } from "./etag.ts";

/** Headers that belong to a connection, not to an answer. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "keep-alive",
  "date",
  "content-length",
  "transfer-encoding",
]);

const FILE_PATH = /^\/docs\/static\/[\w.-]+$/;
/** Without percent signs, which would name one file in many ways, and so read it again for each request. */
const DOCUMENT_PATH = /^\/(?:openapi\.json|docs(?:\/[^%]*)?)$/;

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
  const load = () => {
    loading ??= create();
    return loading;
  };
  const create = async () => {
    try {
      return await (await import("./document.ts")).createDocument(routes, pages);
    } catch (error) {
      loading = undefined; // for the next request to try again
      throw error;
    }
  };
  /** The files of the page: the library takes 7 to 16 ms and 1.7 MB for each request of one. */
  const files = new Map<string, Promise<Response>>();
  const readFile = async (url: string): Promise<Response> => (await load()).inject({ url });
  const sendFile = async (path: string, { headers }: FastifyRequest, reply: FastifyReply) => {
    const reading = files.get(path) ?? readFile(path);
    files.set(path, reading);
    const file = await reading.catch((error) => {
      files.delete(path);
      throw error;
    });
    if (file.statusCode === 200 && matchesEtag(`${file.headers.etag}`, headers["if-none-match"]))
      return copyHeaders(file, reply).code(304).send();
    if (file.statusCode !== 200) files.delete(path);
    return send(file, reply);
  };
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const { raw, headers } = request;
    // As it is looked for there: "/docs/../datasets" is a path of another route.
    const path = URL.parse(raw.url!, "http://localhost")?.pathname ?? "";
    if (!DOCUMENT_PATH.test(path)) return reply.callNotFound();
    if (FILE_PATH.test(path)) return sendFile(path, request, reply);
    // Without a query, which no limit of parameters would hold there.
    return send(await (await load()).inject({ url: path, headers }), reply); // HEAD too: Fastify leaves out the body
  };
  const paths = ["/openapi.json", ...(pages === "served" ? ["/docs", "/docs/", "/docs/*"] : [])];
  for (const path of paths) app.get(path, { schema: { hide: true } }, answer);
}

type Response = Awaited<ReturnType<App["inject"]>>;

function send(response: Response, reply: FastifyReply) {
  if (response.statusCode === 404) return reply.callNotFound();
  const isJson = `${response.headers["content-type"]}`.includes("json"); // compressed as text
  return copyHeaders(response, reply)
    .status(response.statusCode)
    .send(isJson ? response.payload : response.rawPayload);
}

function copyHeaders(response: Response, reply: FastifyReply): FastifyReply {
  reply.header("cache-control", "no-cache");
  for (const [name, value] of Object.entries(response.headers))
    if (!CONNECTION_HEADERS.has(name) && value !== undefined) reply.header(name, value);
  return reply;
}
