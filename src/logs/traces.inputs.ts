import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { optionalJson } from "../validation/json.ts";
import { list } from "../validation/list.ts";
import { optionalText, text } from "../validation/text.ts";
import { logTypes } from "./entities.ts";
import {
  choice,
  costInput,
  loggedVariable,
  MAX_INDEXED_CHARACTERS,
  metadataOf,
  partyOrNothing,
  tokens,
} from "./inputs.ts";

export const MAX_LOGS = 10_000;
const MAX_EVALUATORS = 100;
const MAX_VARIABLES = 1_000;
const MAX_ID_CHARACTERS = 1_024;
/** Each log stores the ids of its user and its organization up to four times, in its row and in indexes. */
const MAX_COPIED_BYTES = 4 * 1024 * 1024;

const reportedTypes = logTypes.filter((type) => type !== "internal");

const shortText = () => optionalText(text(MAX_INDEXED_CHARACTERS));

export const evaluator = z
  .object({ slug: text(MAX_INDEXED_CHARACTERS).min(1).describe("The slug of the evaluator.") })
  .describe("An evaluation to make.");

const evaluators = () =>
  list(evaluator, MAX_EVALUATORS)
    .nullish()
    .transform((value) => (value?.length ? value : null));

export const loggedPrompt = z
  .object({
    slug: text(MAX_INDEXED_CHARACTERS).min(1).describe("The slug of the prompt."),
    version: choice().describe("The version that was asked for, or that served."),
    tag: choice().describe("The tag that was asked for, or that led to the version."),
  })
  .describe("The prompt that a call was made with.");

export const logOfTrace = z
  .object({
    id: text(MAX_ID_CHARACTERS)
      .min(1)
      .describe("Your id of the log, by which others in the trace name it as their parent."),
    type: z.enum(reportedTypes).describe("What kind of step it is."),
    name: shortText().describe("What to show it as."),
    parentId: optionalText(text(MAX_ID_CHARACTERS)).describe(
      "Your id of the log around it, in the same trace. Absent at the top.",
    ),
    startTime: optionalTimestamp().describe("When it began, as in `POST /monitor/log`."),
    endTime: optionalTimestamp().describe("When it ended."),
    input: optionalJson().describe("What went in: any JSON."),
    output: optionalJson().describe("What came out: any JSON."),
    idealOutput: optionalJson().describe("What should have come out: any JSON."),
    metadata: metadataOf("it"),
    evaluators: evaluators().describe("The evaluations to make of it."),
    prompt: loggedPrompt.nullish().describe("The prompt of a call of a model."),
    variables: list(loggedVariable, MAX_VARIABLES)
      .nullish()
      .transform((value) => (value?.length ? value : null))
      .describe("What the prompt's variables were filled with."),
    inputTokens: tokens().describe(
      "The tokens of the input of a generation. Counted from `input` when omitted.",
    ),
    outputTokens: tokens().describe("The tokens of the output. Counted from `output` when omitted."),
    cost: costInput().describe("What it cost, in US dollars. Computed for a call of a model when omitted."),
  })
  .describe("A step of a trace.");
export type LogOfTrace = z.output<typeof logOfTrace>;

export const evaluationConfig = z
  .object({
    sampleRate: z.number().min(0).max(1).nullish().describe("The share of traces to evaluate, from 0 to 1."),
  })
  .describe("How often to evaluate.");

export const experimentReference = z
  .object({ id: text(MAX_ID_CHARACTERS).describe("The id of the experiment.") })
  .describe("An experiment by its id.");

export const traceRecord = z
  .object({
    featureSlug: shortText().describe("The feature of your application that the trace belongs to."),
    chainSlug: shortText().describe("An older name of `featureSlug`, which wins."),
    name: optionalText().describe(
      "What to show it as; else the slug of the feature, or the name of its first log.",
    ),
    input: optionalJson().describe("What the application was given: any JSON."),
    output: optionalJson().describe("What it answered: any JSON."),
    idealOutput: optionalJson().describe("What it should have answered: any JSON."),
    metadata: metadataOf("it"),
    organization: partyOrNothing().describe("The organization on whose behalf it was made."),
    user: partyOrNothing().describe("The user on whose behalf it was made."),
    startTime: optionalTimestamp().describe(
      "When it began, as in `POST /monitor/log`. Else the first start of its logs, else the time of arrival.",
    ),
    endTime: optionalTimestamp().describe(
      "When it ended. Else the last end of its logs. An end before its start is kept, with a warning.",
    ),
    experiment: experimentReference.nullish().describe("The experiment that the trace is a part of."),
    evaluators: evaluators().describe("The evaluations to make of the whole trace."),
    evaluationConfig: evaluationConfig.nullish().describe("How often to evaluate."),
    logs: list(logOfTrace, MAX_LOGS)
      .nullish()
      .describe(`Its steps in any order, at most ${MAX_LOGS.toLocaleString("en")}.`),
  })
  .superRefine(({ user, organization, logs }, context) => {
    const bytes = [user, organization].reduce((sum, party) => sum + Buffer.byteLength(party?.id ?? ""), 0);
    if (bytes * (logs?.length ?? 0) <= MAX_COPIED_BYTES) return;
    const message =
      "must be fewer, or the ids of the user and the organization shorter: each log has both, and all of them have at most 4 MB";
    context.addIssue({ code: "custom", path: ["logs"], message });
  })
  .meta({
    id: "LogTrace",
    description: "One request of an application, with the steps that it took.",
    example: {
      featureSlug: "trip-planner",
      name: "plan a trip",
      input: "Three days in Kenya",
      output: "Day 1: Nairobi …",
      user: { id: "u-17", name: "Amina" },
      logs: [
        { id: "1", type: "span", name: "plan" },
        {
          id: "2",
          parentId: "1",
          type: "generation",
          prompt: { slug: "country-guide", tag: "production" },
          input: "What is the capital of Kenya?",
          output: "Nairobi is the capital of Kenya.",
        },
      ],
    },
  });
export type TraceReport = z.output<typeof traceRecord>;

export const logTraceInput = z.object({ input: traceRecord });

export const experimentRecord = z
  .object({
    featureSlug: text(MAX_INDEXED_CHARACTERS)
      .min(1)
      .describe("The feature whose traces the experiment compares."),
    name: text(MAX_INDEXED_CHARACTERS).min(1).describe("The name of the experiment."),
  })
  .meta({
    id: "CreateExperiment",
    description: "A try of a feature whose traces are compared with those of others.",
    example: { featureSlug: "trip-planner", name: "shorter answers" },
  });
export const createExperimentInput = z.object({ input: experimentRecord });
export type ExperimentRecord = z.output<typeof experimentRecord>;
