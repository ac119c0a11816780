import { z } from "zod";
import type { App } from "../http/app.ts";
import { errorResponsesToBody } from "../rest/errorResponses.ts";
import { warningText } from "../warnings.ts";
import { logPromptRecord } from "./inputs.ts";
import { logPrompt } from "./resolvers.ts";

export const logPromptAnswer = z
  .object({
    trace: z.object({ id: z.string().describe("The id of the trace that was made.") }),
    log: z.object({ id: z.string().describe("The id of the log in it.") }),
    warning: z.string().nullable().describe("Says when the prompt or the version asked for was not found."),
  })
  .describe("What was stored.");

/** The REST routes of monitoring. */
export function monitorRoutes(app: App): void {
  app.route({
    method: "POST",
    url: "/monitor/log",
    schema: {
      operationId: "logPrompt",
      summary: "Record what a prompt answered",
      tags: ["monitor"],
      body: logPromptRecord,
      response: { 200: logPromptAnswer, ...errorResponsesToBody },
    },
    handler: async ({ context, body }) => {
      const { trace, log, warnings } = await logPrompt(context, body);
      return { trace: { id: trace.id }, log: { id: log.id }, warning: warningText(warnings) };
    },
  });
}
