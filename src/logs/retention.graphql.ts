import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { payloadType } from "../graphql/payloads.ts";
import { pruneTracesArguments, pruneTracesInput } from "./prune.inputs.ts";
import { type Pruning, pruneTraces } from "./prune.resolvers.ts";
import {
  countExpiredTraces,
  findLastPruning,
  findOldestStart,
  getRetention,
  type PastPruning,
  type Retention,
} from "./retention.resolvers.ts";

const RetentionRun = builder.objectRef<Pruning>("RetentionRun").implement({
  description: "A removal of old traces that is under way.",
  fields: (t) => ({
    before: t.expose("before", { type: "DateTime", description: "It removes traces that began before." }),
    startedAt: t.expose("startedAt", { type: "DateTime", description: "When it started." }),
    removed: t.exposeInt("removed", { description: "How many traces it has removed so far." }),
  }),
});

const PastRetentionRun = builder.objectRef<PastPruning>("PastRetentionRun").implement({
  description: "A removal of old traces that has ended, or was interrupted.",
  fields: (t) => ({
    before: t.expose("before", { type: "DateTime", description: "It removed traces that began before." }),
    endedAt: t.expose("endedAt", { type: "DateTime", description: "When it ended." }),
    removed: t.exposeInt("removed", { description: "How many traces it removed." }),
    token: t.exposeString("tokenName", {
      description: "The name of the access token that asked for it; `retention` for the service itself.",
    }),
  }),
});

const RetentionType = builder.objectRef<Retention>("Retention").implement({
  description: "How long the service keeps traces, and the removal of older ones.",
  fields: (t) => ({
    days: t.exposeInt("days", {
      nullable: true,
      description: "How many whole days traces are kept (`GABBRO_RETENTION`); null for ever.",
    }),
    before: t.expose("before", {
      type: "DateTime",
      nullable: true,
      description:
        "Traces that began before are removed: a midnight of UTC. Null when traces are kept for ever.",
    }),
    traces: t.int({
      description: "How many traces the service would remove now; 0 when traces are kept for ever.",
      resolve: (retention, _, context) => countExpiredTraces(context, retention),
    }),
    oldestStartTime: t.field({
      type: "DateTime",
      nullable: true,
      description: "When the oldest trace of the workspace began; null when there is none.",
      resolve: (_, __, context) => findOldestStart(context),
    }),
    run: t.expose("run", {
      type: RetentionRun,
      nullable: true,
      description: "The removal that the process that answers has under way; null for none.",
    }),
    lastRun: t.field({
      type: PastRetentionRun,
      nullable: true,
      description:
        "The last removal of traces of the workspace, by the service or by hand; null when there is none among the newest 1,000 entries of the audit log.",
      resolve: (_, __, context) => findLastPruning(context),
    }),
  }),
});

builder.queryField("retention", (t) =>
  t.field({
    type: RetentionType,
    description: "How long traces are kept, and what the service removes. Needs the scope `admin`.",
    resolve: (_, __, context) => getRetention(context),
  }),
);

const PruneTracesPayload = payloadType<Awaited<ReturnType<typeof pruneTraces>>>("PruneTracesPayload", {
  description: "What was removed, or would be.",
  fields: (t) => ({
    before: t.expose("before", { type: "DateTime", description: "The traces began before this time." }),
    traces: t.exposeInt("traces", { description: "How many traces were removed, or would be." }),
    dryRun: t.exposeBoolean("dryRun", { description: "Whether they were only counted." }),
  }),
});

const PruneTracesInput = inputTypeOf("PruneTracesInput", pruneTracesInput, { before: "DateTime!" });

builder.mutationField("pruneTraces", (t) =>
  t.field({
    type: PruneTracesPayload,
    description:
      "Removes the traces that began before a time, with their logs, in small steps: a million traces take minutes. An interrupted run is not undone; run it again. `CONFLICT` when another removal of the workspace's traces is under way. Needs the scope `admin`.",
    args: argumentsOf(t, pruneTracesArguments, { input: PruneTracesInput }),
    resolve: (_, { input }, context) => pruneTraces(context, input),
  }),
);
