import { z } from "zod";
import { readForms, withForms } from "../datasets/clientForms.rest.ts";
import type { App, FastifyRequest } from "../http/app.ts";
import { errorBody, errorResponsesToBody } from "../rest/errorResponses.ts";
import { readFlatForms, readTraceForms } from "./clientForms.inputs.ts";
import { createExperiment } from "./experiments.resolvers.ts";
import { logPromptRecord } from "./inputs.ts";
import { refuseOtlp } from "./otlpBodies.resolvers.ts";
import { logPrompt } from "./resolvers.ts";
import { experimentRecord, traceRecord } from "./traces.inputs.ts";
import { logTrace } from "./traces.resolvers.ts";

export const logPromptAnswer = z
  .object({
    trace: z.object({ id: z.string().describe("The id of the trace that was made.") }),
    log: z.object({ id: z.string().describe("The id of the log in it.") }),
    warning: z.string().nullable().describe("Says when the prompt or the version asked for was not found."),
  })
  .describe("What was stored.");

const logTraceAnswer = z
  .object({
    trace: z.object({ id: z.string().describe("The id of the trace that was made.") }),
    warning: z.string().nullable().describe("Says what was not found or not as documented."),
  })
  .describe("What was stored.");

const experimentAnswer = z
  .object({
    id: z.string().describe("The id, for `experiment.id` of traces."),
    name: z.string().describe("The name."),
    featureSlug: z.string().describe("The feature, as it was sent."),
    createdAt: z.iso.datetime().describe("When it was created."),
  })
  .describe("The experiment that was created.");

const refuseOtlpBody = async ({ body }: FastifyRequest): Promise<void> => refuseOtlp(body);

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
    preValidation: [refuseOtlpBody, readForms(readFlatForms)],
    handler: async (request) => {
      const { trace, log, warnings } = await logPrompt(request.context, request.body);
      return { trace: { id: trace.id }, log: { id: log.id }, warning: withForms(request, warnings) };
    },
  });
  app.route({
    method: "POST",
    url: "/monitor/trace",
    schema: {
      operationId: "logTrace",
      summary: "Record a trace with its steps",
      tags: ["monitor"],
      body: traceRecord,
      response: {
        200: logTraceAnswer,
        ...errorResponsesToBody,
        409: errorBody.describe(
          "Another request had the same `Idempotency-Key`, or the trace was removed while its logs were stored.",
        ),
      },
    },
    preValidation: [
      refuseOtlpBody,
      readForms((body, { headers }) => readTraceForms(body, headers["x-basalt-sdk-type"])),
    ],
    handler: async (request) => {
      const { trace, warnings } = await logTrace(request.context, request.body);
      return { trace: { id: trace.id }, warning: withForms(request, warnings) };
    },
  });
  app.route({
    method: "POST",
    url: "/monitor/experiments",
    schema: {
      operationId: "createExperiment",
      summary: "Create an experiment, whose id traces name",
      tags: ["monitor"],
      body: experimentRecord,
      response: { 200: experimentAnswer, ...errorResponsesToBody },
    },
    handler: async ({ context, body }) => {
      const { id, name, featureSlug, createdAt } = await createExperiment(context, body);
      return { id, name, featureSlug, createdAt: createdAt.toISOString() };
    },
  });
}
