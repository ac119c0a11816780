import type { Page } from "../database/pages.ts";
import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType, type PageArguments } from "../graphql/connections.ts";
import { logFilter, logsInput, metadataMatch } from "./listing.inputs.ts";
import { type Found, keyOf, logs, traces } from "./listing.resolvers.ts";
import { LogConnection, LogType, Trace } from "./types.ts";

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
  });

/** A connection of entities, whose cursors are their places. */
async function connectFound<Entity>(args: PageArguments, read: (page: Page) => Promise<Found<Entity>[]>) {
  const { edges, pageInfo } = await connect(args, { read, key: ({ place }) => keyOf(place) });
  const existing = edges.flatMap(({ cursor, node: { entity } }) =>
    entity ? [{ cursor, node: entity }] : [],
  );
  return { edges: existing, pageInfo };
}

builder.queryFields((t) => ({
  logs: t.field({
    type: LogConnection,
    description: "The logs, the latest calls first. New logs do not shift the pages.",
    args: listArguments(t),
    resolve: (_, { filter, ...args }, context) =>
      connectFound(args, (page) => logs(context, { filter, ...page })),
  }),
  traces: t.field({
    type: connectionType(Trace, "traces"),
    description: "The traces that have such a log, the latest first. New traces do not shift the pages.",
    args: listArguments(t),
    resolve: (_, { filter, ...args }, context) =>
      connectFound(args, (page) => traces(context, { filter, ...page })),
  }),
}));
