import { argumentsOf, builder } from "../graphql/builder.ts";
import { logFilter, logsInput, metadataMatch } from "./listing.inputs.ts";
import { logs, traces } from "./listing.resolvers.ts";
import { Log, LogType, Trace } from "./types.ts";

const MetadataMatch = builder.inputType("MetadataMatch", {
  description: "A member that metadata must have.",
  fields: (t) => ({
    key: t.string({ required: true, description: metadataMatch.shape.key.description }),
    value: t.field({ type: "JSON", description: metadataMatch.shape.value.description }),
  }),
});

const fields = logFilter.shape;

const LogFilter = builder.inputType("LogFilter", {
  description: "Selects the logs that meet all of these conditions.",
  fields: (t) => ({
    slug: t.string({ description: fields.slug.description }),
    version: t.string({ description: fields.version.description }),
    tag: t.string({ description: fields.tag.description }),
    userId: t.string({ description: fields.userId.description }),
    organizationId: t.string({ description: fields.organizationId.description }),
    from: t.field({ type: "DateTime", description: fields.from.description }),
    to: t.field({ type: "DateTime", description: fields.to.description }),
    type: t.field({ type: LogType, description: fields.type.description }),
    minCost: t.float({ description: fields.minCost.description }),
    maxCost: t.float({ description: fields.maxCost.description }),
    minLatencyMs: t.float({ description: fields.minLatencyMs.description }),
    maxLatencyMs: t.float({ description: fields.maxLatencyMs.description }),
    metadata: t.field({ type: [MetadataMatch], description: fields.metadata.description }),
    text: t.string({ description: fields.text.description }),
  }),
});

type QueryFields = Parameters<Parameters<typeof builder.queryFields>[0]>[0];

const listArguments = (t: QueryFields) =>
  argumentsOf(t, logsInput, {
    filter: t.arg({ type: LogFilter, description: logsInput.shape.filter.description }),
    after: t.arg.id({ description: logsInput.shape.after.description }),
  });

builder.queryFields((t) => ({
  logs: t.field({
    type: [Log],
    description: "The logs, the latest calls first, a page at a time. New logs do not shift the pages.",
    args: listArguments(t),
    resolve: (_, args, context) => logs(context, args),
  }),
  traces: t.field({
    type: [Trace],
    description:
      "The traces that have such a log, the latest first, a page at a time. New traces do not shift the pages.",
    args: listArguments(t),
    resolve: (_, args, context) => traces(context, args),
  }),
}));
