import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorBody, errorResponses } from "../rest/errorResponses.ts";
import { warningText } from "../warnings.ts";
import { describePromptInput, versionChoice } from "./inputs.ts";
import { availableVersionsOf, describePrompt, variablesOf } from "./resolvers.ts";

export const describePromptAnswer = z
  .object({
    prompt: z.object({
      slug: z.string().describe("The slug, unique in the workspace."),
      name: z.string().describe("The name to show."),
      status: z.enum(["live", "draft"]).describe("`live` once a version has the tag `production`."),
      description: z.string().nullable().describe("What the prompt is for."),
      availableVersions: z.array(z.string()).describe("All its versions, the oldest first."),
      availableTags: z.array(z.string()).describe("All its tags by name, `latest` among them."),
      variables: z
        .array(z.object({ label: z.string(), type: z.string(), description: z.string().optional() }))
        .describe("The variables of the version shown."),
      version: z.string().nullable().describe("The version shown; null when the prompt has none."),
      tag: z.string().nullable().describe("The tag by which the version was found, if it was found by one."),
    }),
    warning: z.string().optional().describe("Says when another version is shown than the one asked for."),
  })
  .describe("The prompt, as the version asked for shows it.");

/** The REST routes of prompts. */
export function promptRoutes(app: App): void {
  app.route({
    method: "GET",
    url: "/prompts/:slug/describe",
    schema: {
      operationId: "describePrompt",
      summary: "Describe a prompt: its versions, tags and variables",
      tags: ["prompts"],
      params: describePromptInput.pick({ slug: true }),
      querystring: versionChoice,
      response: {
        200: describePromptAnswer,
        ...errorResponses,
        404: errorBody.describe("There is no prompt with that slug."),
      },
    },
    handler: async ({ context, params, query }) => {
      const description = await describePrompt(context, { ...params, ...query });
      const { slug, name, status, availableTags, version, tag } = description;
      const warning = warningText(description.warnings);
      const [availableVersions, all] = await Promise.all([
        availableVersionsOf(context, description),
        variablesOf(context, description),
      ]);
      const variables = all.map(({ description, ...variable }) =>
        description === null ? variable : { ...variable, description },
      );
      const texts = { slug, name, status, description: description.description };
      const prompt = { ...texts, availableVersions, availableTags, variables, version, tag };
      return { prompt, ...(warning !== null && { warning }) };
    },
  });
}
