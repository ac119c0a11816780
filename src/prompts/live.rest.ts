import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorBody, errorResponses } from "../rest/errorResponses.ts";
import { sendEvents } from "../rest/eventStream.ts";
import { describePromptInput } from "./inputs.ts";
import { promptChanged } from "./live.resolvers.ts";

const description = `Server-sent events: the present state of the prompt, then each of its changes, once it is stored. The
stream ends when the prompt is deleted, and after an hour; the first event of the next one is the present state again.`;

const change = z.looseObject({
  action: z
    .string()
    .nullable()
    .describe("The operation that changed the prompt, such as `publishPrompt`; null for the present state."),
  tag: z
    .string()
    .nullable()
    .describe(
      "The tag that was moved, `latest` for a new version; of the present state the tag that serves.",
    ),
  version: z.string().nullable().describe("The version to which the tag points now."),
  etag: z.string().nullable().describe("The `ETag` that `GET /prompts/{slug}` has now."),
});
const { $schema: _, ...contentSchema } = z.toJSONSchema(change);

/** OpenAPI 3.1 has no schema for a stream: this is that of each event. */
const event = z
  .looseObject({
    data: z
      .string()
      .meta({ contentMediaType: "application/json", contentSchema })
      .describe("The change as JSON."),
  })
  .describe("An event.");

/** The REST route that follows a prompt. */
export function promptEventRoutes(app: App): void {
  app.route({
    method: "GET",
    url: "/prompts/:slug/events",
    exposeHeadRoute: false,
    config: { streamsEvents: true },
    schema: {
      operationId: "promptChanged",
      summary: "Follow the changes of a prompt",
      description,
      tags: ["prompts"],
      params: describePromptInput.pick({ slug: true }),
      response: {
        200: { description: "The events.", content: { "text/event-stream": { schema: event } } },
        ...errorResponses,
        404: errorBody.describe("There is no prompt with that slug."),
      },
    },
    handler: async ({ context, params }, reply) => sendEvents(reply, await promptChanged(context, params)),
  });
}
