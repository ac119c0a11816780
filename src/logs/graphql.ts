import { argumentsOf, batched, builder } from "../graphql/builder.ts";
import { loggedVariable, logInput, logPromptInput, logPromptRecord, party, traceInput } from "./inputs.ts";
import { getLog, getTrace, type LoggedPrompt, logPrompt } from "./resolvers.ts";
import { Log, Trace } from "./types.ts";

const fields = logPromptRecord.shape;

const PartyInput = builder.inputType("PartyInput", {
  description: "An organization or a user on whose behalf a call was made.",
  fields: (t) => ({
    id: t.string({ required: true, description: party.shape.id.description }),
    name: t.string({ description: party.shape.name.description }),
  }),
});

const LoggedVariableInput = builder.inputType("LoggedVariableInput", {
  description: "What a variable of the prompt was filled with.",
  fields: (t) => ({
    label: t.string({ required: true, description: loggedVariable.shape.label.description }),
    value: t.string({ description: loggedVariable.shape.value.description }),
  }),
});

const LogPromptInput = builder.inputType("LogPromptInput", {
  description: logPromptRecord.description,
  fields: (t) => ({
    slug: t.string({ required: true, description: fields.slug.description }),
    output: t.field({ type: "JSON", required: true, description: fields.output.description }),
    name: t.string({ description: fields.name.description }),
    version: t.string({ description: fields.version.description }),
    tag: t.string({ description: fields.tag.description }),
    input: t.field({ type: "JSON", description: fields.input.description }),
    idealOutput: t.field({ type: "JSON", description: fields.idealOutput.description }),
    variables: t.field({ type: [LoggedVariableInput], description: fields.variables.description }),
    startTime: t.field({ type: "DateTime", description: fields.startTime.description }),
    endTime: t.field({ type: "DateTime", description: fields.endTime.description }),
    inputTokens: t.int({ description: fields.inputTokens.description }),
    outputTokens: t.int({ description: fields.outputTokens.description }),
    cost: t.float({ description: fields.cost.description }),
    organization: t.field({ type: PartyInput, description: fields.organization.description }),
    user: t.field({ type: PartyInput, description: fields.user.description }),
    metadata: t.field({ type: "JSONObject", description: fields.metadata.description }),
  }),
});

const LogPromptPayload = builder.objectRef<LoggedPrompt>("LogPromptPayload").implement({
  description: "The trace and the log that were stored.",
  fields: (t) => ({
    trace: t.field({
      type: Trace,
      description: "The trace that was made.",
      resolve: ({ trace }) => trace,
    }),
    log: t.field({
      type: Log,
      description: "The log in it.",
      resolve: ({ log }) => log,
    }),
    warning: t.exposeString("warning", {
      nullable: true,
      description:
        "Says when the prompt or the version asked for was not found, and what served; null otherwise.",
    }),
  }),
});

builder.queryFields((t) => ({
  trace: t.field({
    ...batched,
    type: Trace,
    nullable: true,
    description: "The trace with that id; an error `TRACE_NOT_FOUND` when there is none.",
    args: argumentsOf(t, traceInput, {
      id: t.arg.id({ required: true, description: traceInput.shape.id.description }),
    }),
    resolve: (_, args, context) => getTrace(context, args),
  }),
  log: t.field({
    ...batched,
    type: Log,
    nullable: true,
    description: "The log with that id; an error `LOG_NOT_FOUND` when there is none.",
    args: argumentsOf(t, logInput, {
      id: t.arg.id({ required: true, description: logInput.shape.id.description }),
    }),
    resolve: (_, args, context) => getLog(context, args),
  }),
}));

builder.mutationField("logPrompt", (t) =>
  t.field({
    type: LogPromptPayload,
    description: "Records what a prompt answered: makes a trace with one log in it.",
    args: argumentsOf(t, logPromptInput, {
      input: t.arg({
        type: LogPromptInput,
        required: true,
        description: logPromptInput.shape.input.description,
      }),
    }),
    resolve: (_, { input }, context) => logPrompt(context, input),
  }),
);
