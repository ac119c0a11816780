import { playground, sendPlayground } from "../graphiql/routes.ts";
import type { App, FastifyReply, FastifyRequest } from "../http/app.ts";
import type { ContextOf } from "../requestContext.ts";
import type { Pages } from "../rest/document.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { createGraphqlHandler } from "./handler.ts";

/** Adds `/graphql`, for programs and, as GraphiQL, for people. */
export async function graphqlRoutes(app: App, contextOf: ContextOf, pages: Pages): Promise<void> {
  const handle = createGraphqlHandler();
  const sendPage = pages === "served" ? sendPlayground : sendNothing;
  app.route({
    method: ["GET", "POST"],
    url: "/graphql",
    exposeHeadRoute: false,
    config: { streamsEvents: true },
    schema: { hide: true },
    onRequest: async (request, reply) => {
      if (isFromBrowser(request)) return; // the page needs no token, as it has no data
      reply.header("cache-control", "no-store"); // it may have an access token, or the signed URL of a file
      request.context = await contextOf(request, reply);
      authenticated(request.context);
    },
    onSend: async ({ context }, reply) => {
      if (context?.deprecated?.length) reply.header("gabbro-deprecated", context.deprecated.join(", "));
    },
    handler: (request, reply) =>
      isFromBrowser(request) ? sendPage(request, reply) : handle(request, reply, request.context),
  });
  if (pages === "served") await playground(app);
}

function sendNothing(_: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.callNotFound();
  return reply;
}

/** Whether a person opens the address, not a program that sends a query by GET. */
function isFromBrowser({ method, headers, query }: FastifyRequest): boolean {
  const asksForPage = headers.accept?.includes("text/html") ?? false;
  return method === "GET" && asksForPage && !Object.hasOwn(query as object, "query");
}
