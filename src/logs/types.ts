import { builder } from "../graphql/builder.ts";
import { Prompt } from "../prompts/graphql.ts";
import * as entities from "./entities.ts";
import { logPayload, tracePayload } from "./payloads.resolvers.ts";
import { logsOf, promptOf, traceOf } from "./resolvers.ts";

export const LogType = builder.enumType("LogType", {
  description: "What kind of step a log records.",
  values: entities.logTypes,
});

const CostSource = builder.enumType("CostSource", {
  description: "Where the cost of a log comes from.",
  values: {
    REPORTED: { description: "The caller reported it." },
    COMPUTED: { description: "Computed from the tokens and the price of the model at the time of the call." },
    UNPRICED: { description: "Unknown: the model has no known price, or a count of tokens is missing." },
  } as const,
});

const Party = builder.objectRef<entities.Party>("Party").implement({
  description: "An organization or a user on whose behalf a call was made.",
  fields: (t) => ({
    id: t.exposeString("id", { description: "The id by which the caller knows it." }),
    name: t.exposeString("name", { nullable: true, description: "The name to show." }),
  }),
});

const LoggedVariable = builder.objectRef<entities.LoggedVariable>("LoggedVariable").implement({
  description: "What a variable of the prompt was filled with.",
  fields: (t) => ({
    label: t.exposeString("label", { description: "The variable's label in the prompt." }),
    value: t.exposeString("value", { nullable: true, description: "The text it was filled with." }),
  }),
});

export const Trace = builder.objectRef<entities.TraceRecord>("Trace");
export const Log = builder.objectRef<entities.LogRecord>("Log");

Trace.implement({
  description: "One request of an application, with the calls of models that it took.",
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    name: t.string({
      description: "The name given; else the slug of the prompt.",
      resolve: (trace, _, context) => tracePayload(context, trace, "name"),
    }),
    organization: t.field({
      type: Party,
      nullable: true,
      description: "The organization on whose behalf it was made.",
      resolve: (trace, _, context) => tracePayload(context, trace, "organization"),
    }),
    user: t.field({
      type: Party,
      nullable: true,
      description: "The user on whose behalf it was made.",
      resolve: (trace, _, context) => tracePayload(context, trace, "user"),
    }),
    metadata: t.field({
      type: "JSONObject",
      nullable: true,
      description: "Anything else that was kept with it.",
      resolve: (trace, _, context) => tracePayload(context, trace, "metadata"),
    }),
    startTime: t.expose("startTime", { type: "DateTime", description: "When it began." }),
    endTime: t.expose("endTime", { type: "DateTime", nullable: true, description: "When it ended." }),
    logs: t.field({
      type: [Log],
      description: "Its logs, the oldest first.",
      resolve: (parent, _, context) => logsOf(context, parent),
    }),
  }),
});

Log.implement({
  description: "One call of a model: what went in, what came out, what it took.",
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    type: t.field({ type: LogType, description: "What kind of step it is.", resolve: ({ type }) => type }),
    input: t.field({
      type: "JSON",
      nullable: true,
      description: "What the model was given.",
      resolve: (log, _, context) => logPayload(context, log, "input"),
    }),
    output: t.field({
      type: "JSON",
      description: "What the model answered.",
      resolve: (log, _, context) => logPayload(context, log, "output"),
    }),
    idealOutput: t.field({
      type: "JSON",
      nullable: true,
      description: "What the model should have answered.",
      resolve: (log, _, context) => logPayload(context, log, "idealOutput"),
    }),
    variables: t.field({
      type: [LoggedVariable],
      nullable: true,
      description: "What the prompt's variables were filled with; null when it was not reported.",
      resolve: (log, _, context) => logPayload(context, log, "variables"),
    }),
    startTime: t.expose("startTime", { type: "DateTime", description: "When the call began." }),
    endTime: t.expose("endTime", { type: "DateTime", nullable: true, description: "When the call ended." }),
    model: t.exposeString("model", {
      nullable: true,
      description: "The model that the prompt version is written for; null when no version served.",
    }),
    prompt: t.field({
      type: Prompt,
      nullable: true,
      description:
        "The prompt, as the version that served shows it; null when there is no prompt with that slug.",
      resolve: (parent, _, context) => promptOf(context, parent),
    }),
    version: t.exposeString("version", {
      nullable: true,
      description: "The version of the prompt that served; null when none did.",
    }),
    metadata: t.field({
      type: "JSONObject",
      nullable: true,
      description: "Anything else that was kept with it.",
      resolve: (log, _, context) => logPayload(context, log, "metadata"),
    }),
    trace: t.field({
      type: Trace,
      description: "The trace it belongs to.",
      resolve: (parent, _, context) => traceOf(context, parent),
    }),
  }),
});

builder.objectFields(Log, (t) => ({
  latencyMs: t.exposeFloat("latencyMs", {
    nullable: true,
    description: "Milliseconds from start to end; null unless both were reported.",
  }),
  inputTokens: t.exposeInt("inputTokens", {
    nullable: true,
    description: "The tokens of the input, reported or counted; null when there was no input to count.",
  }),
  outputTokens: t.exposeInt("outputTokens", {
    nullable: true,
    description: "The tokens of the output, reported or counted.",
  }),
  totalTokens: t.float({
    nullable: true,
    description: "The tokens of input and output together; null when either is unknown.",
    resolve: ({ inputTokens, outputTokens }) =>
      inputTokens == null || outputTokens == null ? null : inputTokens + outputTokens,
  }),
  cost: t.float({
    nullable: true,
    description: "What the call cost, in US dollars; null when unknown.",
    resolve: ({ cost }) => cost,
  }),
  costSource: t.field({
    type: CostSource,
    description: "Where the cost comes from.",
    resolve: ({ costSource }) => costSource,
  }),
}));
