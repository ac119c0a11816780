import type { Context } from "./context.ts";
import { datasetRoutes } from "./datasets/rest.ts";
import type { App, FastifyReply, FastifyRequest } from "./http/app.ts";
import { monitorRoutes } from "./logs/rest.ts";
import { promptPublishingRoutes, promptReadingRoutes } from "./prompts/authoring.rest.ts";
import { promptRoutes } from "./prompts/rest.ts";
import { cacheWithEtags } from "./rest/etag.ts";
import { handleIdempotencyKeys } from "./rest/idempotency.ts";
import { authenticated } from "./workspaces/resolvers.ts";

/** The routes of all features. They need a token before the body is read, and validate input by its schema. */
export async function restRoutes(
  app: App,
  contextOf: (request: FastifyRequest, reply: FastifyReply) => Promise<Context>,
): Promise<void> {
  app.addHook("onRequest", async (request, reply) => {
    request.context = await contextOf(request, reply);
    authenticated(request.context);
  });
  handleIdempotencyKeys(app);
  datasetRoutes(app);
  promptPublishingRoutes(app);
  await app.register(async (reading: App) => {
    cacheWithEtags(reading);
    promptRoutes(reading);
    promptReadingRoutes(reading);
  });
  monitorRoutes(app);
}
