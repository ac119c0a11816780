import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorBody, errorResponses } from "../rest/errorResponses.ts";
import { sendEvents } from "../rest/eventStream.ts";
import { describePromptInput } from "./inputs.ts";
import { promptChanged } from "./live.resolvers.ts";

const description = `Server-sent events: the present state of the prompt, then each of its changes, once it is stored. The
\`data\` of an event is a JSON object with four members: \`action\`, the operation that changed the prompt, such as
\`publishPrompt\`, or null when this is the present state; \`tag\`, the tag that was moved, or \`latest\` for a new version;
\`version\`, to which the tag points now; and \`etag\`, the \`ETag\` that \`GET /prompts/{slug}\` has now. Each of them may be null.
The stream ends when the prompt is deleted, and after an hour; the first event of the next one is the present state again.`;

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
      produces: ["text/event-stream"],
      params: describePromptInput.pick({ slug: true }),
      response: {
        200: z.string().describe("The events."),
        ...errorResponses,
        404: errorBody.describe("There is no prompt with that slug."),
      },
    },
    handler: async ({ context, params }, reply) => sendEvents(reply, await promptChanged(context, params)),
  });
}
