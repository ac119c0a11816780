import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { usageFilter } from "../logs/filter.inputs.ts";
import { LogStatus } from "../logs/types.ts";
import { GROUPS, MAX_DAYS, usageInput } from "./inputs.ts";
import { type Usage, usage } from "./resolvers.ts";

const UsageGroup = builder.enumType("UsageGroup", {
  description: "What usage is summed up by.",
  values: {
    DAY: { description: "By day of a time zone, also days without calls." },
    PROMPT: { description: "By the slug of the prompt." },
    VERSION: { description: "By prompt and version." },
    MODEL: { description: "By the name of the model." },
    USER: { description: "By the id of the user, which a span has if it names the user itself." },
    ORGANIZATION: {
      description: "By the id of the organization, which a span has if it names the organization itself.",
    },
  } as const,
});

const percentile = "by nearest rank; null when no latency was reported";

const UsageType = builder.objectRef<Usage>("Usage").implement({
  description: "What the calls of one group took together.",
  fields: (t) => ({
    key: t.exposeString("key", {
      nullable: true,
      description:
        "What the group has in common: the day, such as `2026-01-31`, the slug, the version, the name of the model or the id; null for calls that have none, and when nothing was grouped.",
    }),
    promptSlug: t.exposeString("promptSlug", {
      nullable: true,
      description: "The slug of the prompt, when grouped by prompt or version.",
    }),
    logs: t.exposeFloat("logs", {
      description:
        "How many logs there are whose usage counts: calls of models, and steps that report it for them.",
    }),
    unpricedLogs: t.exposeFloat("unpricedLogs", {
      description: "How many of them have no known cost; they are not in `cost`.",
    }),
    failedLogs: t.exposeFloat("failedLogs", {
      description: "How many of them failed, as the client reported: their status is `ERROR`.",
    }),
    inputTokens: t.exposeFloat("inputTokens", {
      description: "The tokens of the inputs, where known, those of caches included.",
    }),
    outputTokens: t.exposeFloat("outputTokens", {
      description: "The tokens of the outputs, where known, reasoning included.",
    }),
    cacheReadTokens: t.exposeFloat("cacheReadTokens", {
      description: "The tokens of the inputs that came from caches.",
    }),
    cacheWriteTokens: t.exposeFloat("cacheWriteTokens", {
      description: "The tokens of the inputs that were written to caches.",
    }),
    reasoningTokens: t.exposeFloat("reasoningTokens", {
      description: "The tokens of the outputs that were reasoning.",
    }),
    totalTokens: t.float({
      description: "The tokens of inputs and outputs together.",
      resolve: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    }),
    cost: t.exposeFloat("cost", { description: "What the calls cost, in US dollars." }),
    p50LatencyMs: t.exposeFloat("p50LatencyMs", {
      nullable: true,
      description: `The latency in milliseconds that half of the calls do not exceed, ${percentile}.`,
    }),
    p95LatencyMs: t.exposeFloat("p95LatencyMs", {
      nullable: true,
      description: `The latency that 95 % of the calls do not exceed, ${percentile}.`,
    }),
    p99LatencyMs: t.exposeFloat("p99LatencyMs", {
      nullable: true,
      description: `The latency that 99 % of the calls do not exceed, ${percentile}.`,
    }),
  }),
});

const UsageFilter = inputTypeOf("UsageFilter", usageFilter, (self) => ({
  ...{ slug: ["String"], version: ["String"], model: ["String"], status: [LogStatus] },
  ...{ userId: ["String"], organizationId: ["String"], and: [self], or: [self], not: self },
}));

builder.queryField("usage", (t) =>
  t.field({
    type: connectionType(UsageType, "the groups of a usage report"),
    description:
      "What the calls of a period took together: the groups with the most logs first, or the days in their order. Groups are paged by their number of logs: one whose number changes between two pages may come again or be left out. Read along one index, without the logs themselves.",
    args: argumentsOf(t, usageInput, {
      ...{ from: "DateTime!", to: "DateTime!", groupBy: UsageGroup, filter: UsageFilter },
    }),
    extensions: { maxPageEntries: MAX_DAYS },
    resolve: (_, { first, after, ...input }, context) =>
      connect(
        context,
        { first, after },
        {
          read: (page) => usage(context, { ...input, ...page }),
          key: ({ sortKey }) => sortKey,
          size: input.groupBy === "DAY" ? MAX_DAYS : GROUPS,
        },
      ),
  }),
);
