import type { Context } from "./context.ts";
import type { Database } from "./database/open.ts";
import { datasetRoutes } from "./datasets/rest.ts";
import { fileRoutes, signedFileRoutes } from "./files/rest.ts";
import type { App, FastifyReply, FastifyRequest } from "./http/app.ts";
import { monitorRoutes } from "./logs/rest.ts";
import { promptEventRoutes } from "./prompts/live.rest.ts";
import { promptPublishingRoutes } from "./prompts/publishing.rest.ts";
import { promptReadingRoutes } from "./prompts/reading.rest.ts";
import { promptRoutes } from "./prompts/rest.ts";
import { signedContext } from "./requestContext.ts";
import { cacheWithEtags } from "./rest/etag.ts";
import { handleIdempotencyKeys } from "./rest/idempotency.ts";
import { authenticated } from "./workspaces/resolvers.ts";
import { authRoutes } from "./workspaces/rest.ts";

type ContextOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>;

/** The routes of all features. They validate input by its schema. */
export async function restRoutes(app: App, database: Database, contextOf: ContextOf): Promise<void> {
  await app.register(async (routes: App) => tokenRoutes(routes, contextOf));
  await app.register(async (routes: App) => signedRoutes(routes, database));
}

/** The routes that need a token before the body is read. */
async function tokenRoutes(app: App, contextOf: ContextOf): Promise<void> {
  app.addHook("onRequest", async (request, reply) => {
    request.context = await contextOf(request, reply);
    authenticated(request.context);
  });
  handleIdempotencyKeys(app);
  authRoutes(app);
  fileRoutes(app);
  datasetRoutes(app);
  promptPublishingRoutes(app);
  promptEventRoutes(app);
  await app.register(async (reading: App) => {
    cacheWithEtags(reading);
    promptRoutes(reading);
    promptReadingRoutes(reading);
  });
  monitorRoutes(app);
}

/** The routes of signed URLs, which need no token. */
function signedRoutes(app: App, database: Database): void {
  signedFileRoutes(app, {
    database,
    contextOf: (request, workspaceId) => signedContext(database, request, workspaceId),
  });
}
