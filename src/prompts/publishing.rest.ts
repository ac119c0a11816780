import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorBody, errorResponsesToBody } from "../rest/errorResponses.ts";
import { describePromptInput, publishPromptInput } from "./inputs.ts";
import { publishPrompt } from "./tags.resolvers.ts";

/** JSON Schema states what the resolver refuses: neither a version nor a tag. */
const publishBody = publishPromptInput.omit({ slug: true }).meta({
  anyOf: ["version", "tag"].map((name) => ({
    required: [name],
    properties: { [name]: { type: "string", minLength: 1 } },
  })),
});
const notFound = { 404: errorBody.describe("There is no such prompt, version or tag.") };

export const publishPromptAnswer = z
  .object({ deploymentTag: z.object({ id: z.string(), label: z.string() }) })
  .describe("The tag that was moved.");

/** The REST route that publishes a prompt. */
export function promptPublishingRoutes(app: App): void {
  app.route({
    method: "POST",
    url: "/prompts/:slug/publish",
    schema: {
      operationId: "publishPrompt",
      summary: "Point a tag to a version",
      tags: ["prompts"],
      params: describePromptInput.pick({ slug: true }),
      body: publishBody,
      response: { 201: publishPromptAnswer, ...errorResponsesToBody, ...notFound },
    },
    handler: async ({ context, params, body }, reply) => {
      const { id, label } = await publishPrompt(context, { ...params, ...body });
      reply.status(201);
      return { deploymentTag: { id, label } };
    },
  });
}
