import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorBody, errorResponses } from "../rest/errorResponses.ts";
import { allPages } from "../validation/pagination.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { describePromptInput, promptsInput, versionChoice } from "./inputs.ts";
import { describePrompts } from "./reading.resolvers.ts";
import { availableVersionsOf } from "./resolvers.ts";
import { describePromptAnswer } from "./rest.ts";
import { servedAnswer } from "./served.resolvers.ts";

const slug = describePromptInput.pick({ slug: true });
const notFound = { 404: errorBody.describe("There is no such prompt, version or tag.") };

export const promptsAnswer = z
  .object({
    prompts: z.array(
      describePromptAnswer.shape.prompt.pick({
        slug: true,
        name: true,
        status: true,
        description: true,
        availableVersions: true,
        availableTags: true,
      }),
    ),
  })
  .describe("All prompts, in the order of their slugs.");

export const servedPromptAnswer = z
  .object({
    prompt: z.object({
      slug: z.string(),
      text: z.string().describe("The text, a Jinja template."),
      systemText: z.string().describe("The text for the system's role; empty when there is none."),
      messages: z
        .array(
          z.object({
            role: z.string().optional(),
            content: z.string().optional().describe("A Jinja template."),
            name: z.string().optional(),
            placeholder: z.string().optional().describe("Instead of role and content."),
          }),
        )
        .optional()
        .describe("The messages of a chat; absent when the version has none."),
      version: z.string().describe("The version that serves."),
      tag: z.string().describe("The tag by which it was found; empty when it was asked for by its own name."),
      model: z.object({
        provider: z.string(),
        client: z
          .string()
          .describe("The client to call it with; when none is set, that of the provider, else `open-ai`."),
        model: z.string(),
        version: z.string(),
        parameters: z
          .looseObject({
            temperature: z.unknown().describe("1 when it is not set."),
            topP: z.unknown().describe("1 when it is not set."),
            maxLength: z.unknown().describe("0 when it is not set."),
            responseFormat: z.unknown().describe("`text` when it is not set."),
          })
          .describe("Its parameters; these four are always there."),
      }),
    }),
    warning: z.string().optional().describe("Says when another version serves than the one asked for."),
  })
  .describe("The prompt as an application uses it.");

/** The REST routes that list and return prompts, as the published clients expect them. */
export function promptReadingRoutes(app: App): void {
  app.route({
    method: "GET",
    url: "/prompts",
    schema: {
      operationId: "prompts",
      summary: "List the prompts",
      tags: ["prompts"],
      querystring: promptsInput.pick({ featureSlug: true }),
      response: { 200: promptsAnswer, ...errorResponses },
    },
    handler: async ({ context, query }) => {
      const turn = () => context.database.turn(authorize(context, "read"));
      const all = await allPages(turn, (page) => describePrompts(context, { ...query, ...page }));
      const prompts = all.map(async (prompt) => {
        const { slug, name, status, description, availableTags } = prompt;
        const availableVersions = await availableVersionsOf(context, prompt);
        return { slug, name, status, description, availableVersions, availableTags };
      });
      return { prompts: await Promise.all(prompts) };
    },
  });

  app.route({
    method: "GET",
    url: "/prompts/:slug",
    schema: {
      operationId: "servedPrompt",
      summary: "Get a prompt as an application uses it: texts and model of the version that serves",
      tags: ["prompts"],
      params: slug,
      querystring: versionChoice,
      response: { 200: servedPromptAnswer, ...errorResponses, ...notFound },
    },
    handler: ({ context, params, query }) => servedAnswer(context, { ...params, ...query }),
  });
}
