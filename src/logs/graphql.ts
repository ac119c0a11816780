import { argumentsOf, batched, builder, inputTypeOf } from "../graphql/builder.ts";
import { payloadType, warningField } from "../graphql/payloads.ts";
import { loggedVariable, logInput, logPromptInput, logPromptRecord, party, traceInput } from "./inputs.ts";
import { getLog, getTrace, type LoggedPrompt, logPrompt } from "./resolvers.ts";
import { Log, Trace } from "./types.ts";

export const PartyInput = inputTypeOf("PartyInput", party);
export const LoggedVariableInput = inputTypeOf("LoggedVariableInput", loggedVariable);
const LogPromptInput = inputTypeOf("LogPromptInput", logPromptRecord, {
  output: "JSON!",
  input: "JSON",
  idealOutput: "JSON",
  variables: [LoggedVariableInput],
  startTime: "DateTime",
  endTime: "DateTime",
  organization: PartyInput,
  user: PartyInput,
  metadata: "JSONObject",
});

const LogPromptPayload = payloadType<LoggedPrompt>("LogPromptPayload", {
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
    warning: warningField(t),
  }),
});

builder.queryFields((t) => ({
  trace: t.field({
    ...batched,
    type: Trace,
    nullable: true,
    description: "The trace with that id; an error `TRACE_NOT_FOUND` when there is none.",
    args: argumentsOf(t, traceInput, { id: "ID" }),
    resolve: (_, args, context) => getTrace(context, args),
  }),
  log: t.field({
    ...batched,
    type: Log,
    nullable: true,
    description: "The log with that id; an error `LOG_NOT_FOUND` when there is none.",
    args: argumentsOf(t, logInput, { id: "ID" }),
    resolve: (_, args, context) => getLog(context, args),
  }),
}));

builder.mutationField("logPrompt", (t) =>
  t.field({
    type: LogPromptPayload,
    description: "Records what a prompt answered: makes a trace with one log in it.",
    args: argumentsOf(t, logPromptInput, { input: LogPromptInput }),
    resolve: (_, { input }, context) => logPrompt(context, input),
  }),
);
