import { builder } from "../graphql/builder.ts";
import { type TokenParts, totalInput, totalOutput } from "../usage/tokenParts.ts";
import type { LogRecord } from "./entities.ts";
import { logAttributes, logPayload } from "./payloads.resolvers.ts";
import { previewOfLog } from "./previews.resolvers.ts";
import type { ReportedEvent } from "./reported.ts";
import type { Rollup } from "./rollups.ts";
import { fromPlace } from "./trees.resolvers.ts";
import { Log, LogStatus } from "./types.ts";

type SomeParts = { [Part in keyof TokenParts]?: TokenParts[Part] | undefined };

export const TokenUsage = builder.objectRef<SomeParts>("TokenUsage").implement({
  description: "Tokens in disjoint parts: none is counted in two of them. Null is unknown.",
  fields: (t) => ({
    inputTokens: t.float({
      nullable: true,
      description: "Input that neither came from a cache nor was written to one.",
      resolve: (usage) => usage.inputTokens,
    }),
    cacheReadTokens: t.float({
      nullable: true,
      description: "Input that came from a cache.",
      resolve: (usage) => usage.cacheReadTokens,
    }),
    cacheWriteTokens: t.float({
      nullable: true,
      description: "Input that was written to a cache.",
      resolve: (usage) => usage.cacheWriteTokens,
    }),
    outputTokens: t.float({
      nullable: true,
      description: "Output without reasoning.",
      resolve: (usage) => usage.outputTokens,
    }),
    reasoningTokens: t.float({
      nullable: true,
      description: "Output that was reasoning.",
      resolve: (usage) => usage.reasoningTokens,
    }),
  }),
});

const LogEvent = builder.objectRef<ReportedEvent>("LogEvent").implement({
  description: "Something that happened at a time within a step, such as an exception.",
  fields: (t) => ({
    name: t.exposeString("name", { description: "What happened." }),
    time: t.string({ nullable: true, description: "When, as ISO 8601.", resolve: ({ time }) => time }),
    attributes: t.field({
      type: "JSONObject",
      description: "What else is known of it.",
      resolve: ({ attributes }) => attributes,
    }),
  }),
});

const Subtree = builder.objectRef<Rollup>("Subtree").implement({
  description: "Sums over a log and all below it. What is unknown counts as 0.",
  fields: (t) => ({
    logs: t.exposeInt("logs", { description: "How many logs there are, itself included." }),
    errors: t.exposeInt("errors", { description: "How many of them ended with an error." }),
    cost: t.exposeFloat("cost", { description: "What they cost, in US dollars." }),
    inputTokens: t.float({
      description: "The tokens of their inputs, cached ones included.",
      resolve: (sums) => totalInput(sums)!,
    }),
    outputTokens: t.float({
      description: "The tokens of their outputs, reasoning included.",
      resolve: (sums) => totalOutput(sums)!,
    }),
    usage: t.field({
      type: TokenUsage,
      description: "Their tokens in disjoint parts.",
      resolve: (sums) => sums,
    }),
  }),
});

/** The name given; else what the log is about. */
export const nameOf = ({ name, promptSlug, type }: LogRecord): string => name ?? promptSlug ?? type;

builder.objectFields(Log, (t) => ({
  name: t.string({
    description: "The name given; else the slug of the prompt, else the type in lower case.",
    resolve: nameOf,
  }),
  externalId: t.string({
    nullable: true,
    description: "The id by which the client knows it, such as that of a span, unique within the trace.",
    resolve: ({ externalId }) => externalId,
  }),
  parentId: t.id({
    nullable: true,
    description: "The id of the log around it; null at the top.",
    resolve: (log, _, context) => fromPlace(context, log, (place) => place?.parentId),
  }),
  depth: t.int({
    description: "How many logs are around it.",
    resolve: (log, _, context) => fromPlace(context, log, (place) => place?.depth ?? 0),
  }),
  missingParent: t.boolean({
    description: "Whether it names a parent that is not stored; it then stands at the top.",
    resolve: (log, _, context) => fromPlace(context, log, (place) => place?.missingParent ?? false),
  }),
  status: t.field({
    type: LogStatus,
    nullable: true,
    description: "How it ended; null when the client does not say.",
    resolve: ({ status }) => status,
  }),
  statusMessage: t.string({
    nullable: true,
    description: "What the client says of the status, such as the message of an error.",
    resolve: (log, _, context) => logPayload(context, log, "statusMessage"),
  }),
  offsetMs: t.float({
    description: "Milliseconds from the start of the trace to its own.",
    resolve: (log, _, context) => fromPlace(context, log, (place) => place?.offsetMs ?? 0),
  }),
  durationMs: t.float({
    nullable: true,
    description: "Milliseconds from start to end, as `latencyMs`.",
    resolve: ({ latencyMs }) => latencyMs,
  }),
}));

builder.objectFields(Log, (t) => ({
  timeToFirstTokenMs: t.float({
    nullable: true,
    description: "Milliseconds until the first token came; null when not reported.",
    resolve: ({ timeToFirstTokenMs }) => timeToFirstTokenMs,
  }),
  usage: t.field({
    type: TokenUsage,
    description:
      "Its own tokens in disjoint parts. Set on model calls, and on a step that reports tokens while no step below it does.",
    resolve: (log) => log,
  }),
  reportedUsage: t.field({
    type: TokenUsage,
    nullable: true,
    description:
      "What was reported of a step whose tokens are counted at the logs below it; null for all others.",
    resolve: (log, _, context) => logPayload(context, log, "aggregateUsage"),
  }),
  subtree: t.field({
    type: Subtree,
    nullable: true,
    description: "Sums over it and all below it; null for a call of a client library to Gabbro.",
    resolve: (log, _, context) => fromPlace(context, log, (place) => place?.subtree),
  }),
  inputPreview: t.string({
    nullable: true,
    description: "The first 200 characters of the input; of anything but a text, those of its JSON.",
    resolve: (log, _, context) => previewOfLog(context, log, "input"),
  }),
  outputPreview: t.string({
    nullable: true,
    description: "The first 200 characters of the output, likewise.",
    resolve: (log, _, context) => previewOfLog(context, log, "output"),
  }),
  evaluators: t.stringList({
    nullable: true,
    description: "The slugs of the evaluations that the client asks for.",
    resolve: async (log, _, context) =>
      (await logPayload(context, log, "evaluators"))?.map(({ slug }) => slug),
  }),
  attributes: t.field({
    type: "JSONObject",
    nullable: true,
    description:
      "Everything else that came with it, as it came: of a span its attributes, resource and scope.",
    resolve: (log, _, context) => logAttributes(context, log),
  }),
  events: t.field({
    type: [LogEvent],
    nullable: true,
    description: "What happened within it, such as exceptions.",
    resolve: (log, _, context) => logPayload(context, log, "events"),
  }),
}));
