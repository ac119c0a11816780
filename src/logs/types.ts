import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { Prompt } from "../prompts/graphql.ts";
import { PromptVersion } from "../prompts/versions.graphql.ts";
import { totalInput, totalOutput } from "../usage/tokenParts.ts";
import { PAGE } from "../validation/pagination.ts";
import type * as entities from "./entities.ts";
import { MAX_TRACE_PAGE, traceLogsInput } from "./listing.inputs.ts";
import { logPayload, ownOrOfRoot, tracePayload } from "./payloads.resolvers.ts";
import { findLog, findTrace, promptOf, promptVersionOf, traceOf } from "./resolvers.ts";
import { logsOf } from "./trees.resolvers.ts";

export const LogType = builder.enumType("LogType", {
  description: "What kind of step a log records.",
  values: {
    GENERATION: { value: "generation", description: "A call of a model." },
    SPAN: { value: "span", description: "A step that contains others, or any other step." },
    FUNCTION: { value: "function", description: "A function of the application." },
    TOOL: { value: "tool", description: "A call of a tool." },
    RETRIEVAL: { value: "retrieval", description: "A search for documents." },
    EVENT: { value: "event", description: "Something that happened." },
    AGENT: { value: "agent", description: "A run of an agent." },
    EMBEDDING: { value: "embedding", description: "A call of a model for embeddings." },
    EVALUATOR: { value: "evaluator", description: "A run of an evaluator." },
    GUARDRAIL: { value: "guardrail", description: "A check of what went in or came out." },
    INTERNAL: {
      value: "internal",
      description:
        "A call of a client library to Gabbro, without its content. Lists leave these out unless `type` names it in the filter, or within its `and` or `or`; `Trace.logs` never contains them.",
    },
  } satisfies Record<Uppercase<entities.LogRecord["type"]>, object>,
});

export const LogStatus = builder.enumType("LogStatus", {
  description: "How a step ended.",
  values: {
    OK: { value: "ok", description: "Well, as the client says." },
    ERROR: { value: "error", description: "With an error." },
  } satisfies Record<Uppercase<NonNullable<entities.LogRecord["status"]>>, object>,
});

const CostSource = builder.enumType("CostSource", {
  description: "Where the cost of a log comes from.",
  values: {
    REPORTED: { description: "The caller reported it." },
    COMPUTED: { description: "Computed from the tokens and the price of the model at the time of the call." },
    UNPRICED: { description: "Unknown: the model has no known price, or a count of tokens is missing." },
    NONE: { description: "There is none: the log is no call of a model, or the logs below it count." },
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
  description: "One request of an application, with the steps that it took, such as calls of models.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    name: t.string({
      description:
        "The name given; else the slug of the feature or the prompt, or the name of a log at the top.",
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
      description: "Anything else that was kept with it; else the metadata of its root.",
      resolve: (trace, _, context) => ownOrOfRoot(context, trace, "metadata"),
    }),
    startTime: t.expose("startTime", { type: "DateTime", description: "When it began." }),
    endTime: t.expose("endTime", { type: "DateTime", nullable: true, description: "When it ended." }),
    logs: t.field({
      type: LogConnection,
      description:
        "Its logs as a flat list in display order: each before those below it, with `parentId` and `depth`. While the trace grows, a new log may stand before the cursor of a page.",
      args: argumentsOf(t, traceLogsInput, { types: [LogType], status: LogStatus }),
      extensions: { maxPageEntries: MAX_TRACE_PAGE, defaultPageEntries: PAGE },
      resolve: (parent, { types, status, ...args }, context) =>
        connect(context, args, {
          read: (page) => logsOf(context, parent, { ...page, types, status }),
          key: ({ id }) => id,
          entryBytes: 0, // they are counted before they are read
        }),
    }),
  }),
});

Log.implement({
  description: "One step of a trace, such as a call of a model: what went in, what came out, what it took.",
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
      nullable: true,
      description: "What the model answered; null when nothing was reported.",
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
      description:
        "The name of the version of the prompt that served; when none did, the one that the client named.",
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
  inputTokens: t.float({
    nullable: true,
    description:
      "The tokens of the input, cached ones included, reported or counted; null when there was no input to count.",
    resolve: (log) => totalInput(log),
  }),
  outputTokens: t.float({
    nullable: true,
    description: "The tokens of the output, reasoning included, reported or counted.",
    resolve: (log) => totalOutput(log),
  }),
  totalTokens: t.float({
    nullable: true,
    description: "The tokens of input and output together; null when either is unknown.",
    resolve: (log) => {
      const [input, output] = [totalInput(log), totalOutput(log)];
      return input === null || output === null ? null : input + output;
    },
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
