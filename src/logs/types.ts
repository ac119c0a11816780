import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { Prompt } from "../prompts/graphql.ts";
import { PromptVersion } from "../prompts/versions.graphql.ts";
import type * as entities from "./entities.ts";
import { traceLogsInput } from "./listing.inputs.ts";
import { logPayload, tracePayload } from "./payloads.resolvers.ts";
import { findLog, findTrace, logsOf, promptOf, promptVersionOf, traceOf } from "./resolvers.ts";

export const LogType = builder.enumType("LogType", {
  description: "What kind of step a log records.",
  values: { GENERATION: { value: "generation", description: "A call of a model." } } satisfies Record<
    Uppercase<entities.LogRecord["type"]>,
    object
  >,
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

/** A page of logs, wherever they are listed. */
export const LogConnection = connectionType(Log, "logs");

Trace.implement({
  description: "One request of an application, with the calls of models that it took.",
  interfaces: [Node],
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
      type: LogConnection,
      description: "Its logs, the oldest first.",
      args: argumentsOf(t, traceLogsInput),
      resolve: (parent, args, context) =>
        connect(args, { read: (page) => logsOf(context, parent, page), key: ({ id }) => id }),
    }),
  }),
});

Log.implement({
  description: "One call of a model: what went in, what came out, what it took.",
  interfaces: [Node],
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
      description: "The prompt; null when there is none with that slug.",
      resolve: (parent, _, context) => promptOf(context, parent),
    }),
    version: t.exposeString("version", {
      nullable: true,
      description: "The name of the version of the prompt that served; null when none did.",
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

findsNode(Trace, "read", { find: findTrace });
findsNode(Log, "read", { find: findLog });

builder.objectFields(Log, (t) => ({
  promptVersion: t.field({
    type: PromptVersion,
    nullable: true,
    description: "The version of the prompt that served, with its texts; null when none did.",
    resolve: (parent, _, context) => promptVersionOf(context, parent),
  }),
  tag: t.exposeString("tag", {
    nullable: true,
    description: "The tag by which the version was found; null when it was asked for by its own name.",
  }),
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
