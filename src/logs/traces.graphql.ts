import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { payloadType, warningField } from "../graphql/payloads.ts";
import type { Warning } from "../warnings.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Experiment as ExperimentEntity, TraceRecord } from "./entities.ts";
import { createExperiment, findExperiment } from "./experiments.resolvers.ts";
import { LoggedVariableInput, PartyInput } from "./graphql.ts";
import { ownOrOfRoot, tracePayload } from "./payloads.resolvers.ts";
import { findLog } from "./resolvers.ts";
import {
  createExperimentInput,
  evaluationConfig,
  evaluator,
  experimentRecord,
  experimentReference,
  loggedPrompt,
  logOfTrace,
  logTraceInput,
  traceRecord,
} from "./traces.inputs.ts";
import { logTrace } from "./traces.resolvers.ts";
import { TokenUsage } from "./trees.graphql.ts";
import { treeOfTrace } from "./trees.resolvers.ts";
import { Log, LogType, Trace } from "./types.ts";

const Experiment = builder.objectRef<ExperimentEntity>("Experiment").implement({
  description: "A try of a feature whose traces are compared with those of others.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    name: t.exposeString("name", { description: "Its name." }),
    featureSlug: t.exposeString("featureSlug", { description: "The feature whose traces it compares." }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was created." }),
  }),
});
findsNode(Experiment, "read", { find: findExperiment });

builder.objectFields(Trace, (t) => ({
  externalId: t.string({
    nullable: true,
    description: "The id by which the client knows it, such as the trace id of OpenTelemetry.",
    resolve: ({ externalId }) => externalId,
  }),
  featureSlug: t.string({
    nullable: true,
    description: "The feature of the application that it belongs to.",
    resolve: ({ featureSlug }) => featureSlug,
  }),
  sessionId: t.string({
    nullable: true,
    description: "The session or conversation that it belongs to.",
    resolve: ({ sessionId }) => sessionId,
  }),
  environment: t.string({
    nullable: true,
    description: "The environment that it ran in, such as `production`.",
    resolve: ({ environment }) => environment,
  }),
  input: t.field({
    type: "JSON",
    nullable: true,
    description: "What the application was given; else the input of its root.",
    resolve: (trace, _, context) => ownOrOfRoot(context, trace, "input"),
  }),
  output: t.field({
    type: "JSON",
    nullable: true,
    description: "What it answered; else the output of its root.",
    resolve: (trace, _, context) => ownOrOfRoot(context, trace, "output"),
  }),
  idealOutput: t.field({
    type: "JSON",
    nullable: true,
    description: "What it should have answered.",
    resolve: (trace, _, context) => tracePayload(context, trace, "idealOutput"),
  }),
}));

builder.objectFields(Trace, (t) => ({
  evaluators: t.stringList({
    nullable: true,
    description: "The slugs of the evaluations that the client asks for.",
    resolve: async (trace, _, context) =>
      (await tracePayload(context, trace, "evaluators"))?.map(({ slug }) => slug),
  }),
  sampleRate: t.float({
    nullable: true,
    description: "The share of traces that are evaluated, from 0 to 1.",
    resolve: ({ sampleRate }) => sampleRate,
  }),
  experimentId: t.string({
    nullable: true,
    description: "The id of the experiment that the client names, whether it exists or not.",
    resolve: ({ experimentId }) => experimentId,
  }),
  experiment: t.field({
    type: Experiment,
    nullable: true,
    description: "The experiment that it is a part of; null when there is none with that id.",
    resolve: ({ experimentId }, _, context) => {
      authorize(context, "read");
      return experimentId == null ? null : findExperiment(context, experimentId);
    },
  }),
}));

const total = async (context: Parameters<typeof treeOfTrace>[0], trace: TraceRecord) =>
  (await treeOfTrace(context, trace)).total;

builder.objectFields(Trace, (t) => ({
  durationMs: t.float({
    nullable: true,
    description: "Milliseconds from start to end; null unless it has an end.",
    resolve: ({ startTime, endTime }) => endTime && endTime.getTime() - startTime.getTime(),
  }),
  root: t.field({
    type: Log,
    nullable: true,
    description: "The first log at the top whose parent is not missing; null while it has not come.",
    resolve: async (trace, _, context) => {
      const { root } = await treeOfTrace(context, trace);
      return root ? findLog(context, root.id) : null;
    },
  }),
  complete: t.boolean({
    description: "Whether a root is there, and the parent of every other log.",
    resolve: async (trace, _, context) => (await treeOfTrace(context, trace)).isComplete,
  }),
  logCount: t.int({
    description: "How many logs it has.",
    resolve: async (trace, _, context) => (await total(context, trace)).logs,
  }),
  errorCount: t.int({
    description: "How many of them ended with an error.",
    resolve: async (trace, _, context) => (await total(context, trace)).errors,
  }),
  generationCount: t.int({
    description: "How many of them are calls of models that generate text.",
    resolve: async (trace, _, context) => (await total(context, trace)).generations,
  }),
  usage: t.field({
    type: TokenUsage,
    description: "The tokens of all its logs in disjoint parts; what is unknown counts as 0.",
    resolve: (trace, _, context) => total(context, trace),
  }),
  cost: t.float({
    description: "What its logs cost, in US dollars, as far as it is known.",
    resolve: async (trace, _, context) => (await total(context, trace)).cost,
  }),
  unpricedCount: t.int({
    description: "How many calls of models have no known cost; they are not in `cost`.",
    resolve: async (trace, _, context) => (await total(context, trace)).unpriced,
  }),
}));

const EvaluatorInput = inputTypeOf("EvaluatorInput", evaluator);
const LogOfTraceInput = inputTypeOf("LogOfTraceInput", logOfTrace, {
  type: LogType,
  ...{ startTime: "DateTime", endTime: "DateTime", input: "JSON", output: "JSON", idealOutput: "JSON" },
  ...{ metadata: "JSONObject", evaluators: [EvaluatorInput], variables: [LoggedVariableInput] },
  prompt: inputTypeOf("LoggedPromptInput", loggedPrompt),
});
const LogTraceInput = inputTypeOf("LogTraceInput", traceRecord, {
  ...{ startTime: "DateTime", endTime: "DateTime", input: "JSON", output: "JSON", idealOutput: "JSON" },
  ...{ metadata: "JSONObject", evaluators: [EvaluatorInput], logs: [LogOfTraceInput] },
  ...{ organization: PartyInput, user: PartyInput },
  experiment: inputTypeOf("ExperimentReferenceInput", experimentReference),
  evaluationConfig: inputTypeOf("EvaluationConfigInput", evaluationConfig),
});

const LogTracePayload = payloadType<{ trace: TraceRecord; warnings: Warning[] }>("LogTracePayload", {
  description: "The trace that was stored.",
  fields: (t) => ({
    trace: t.field({ type: Trace, description: "The trace.", resolve: ({ trace }) => trace }),
    warning: warningField(t),
  }),
});

const CreateExperimentPayload = payloadType<{ experiment: ExperimentEntity }>("CreateExperimentPayload", {
  description: "The experiment that was created.",
  fields: (t) => ({
    experiment: t.field({
      type: Experiment,
      description: "The experiment.",
      resolve: ({ experiment }) => experiment,
    }),
  }),
});

builder.mutationFields((t) => ({
  logTrace: t.field({
    type: LogTracePayload,
    description:
      "Records a trace with all its steps. To add steps as they happen, send spans of OpenTelemetry. An error `CONFLICT` when a long trace is removed, by retention or `pruneTraces`, while its steps are stored.",
    args: argumentsOf(t, logTraceInput, { input: LogTraceInput }),
    resolve: (_, { input }, context) => logTrace(context, input),
  }),
  createExperiment: t.field({
    type: CreateExperimentPayload,
    description: "Creates an experiment, whose id traces name.",
    args: argumentsOf(t, createExperimentInput, {
      input: inputTypeOf("CreateExperimentInput", experimentRecord),
    }),
    resolve: async (_, { input }, context) => ({ experiment: await createExperiment(context, input) }),
  }),
}));
