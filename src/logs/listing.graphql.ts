import type { Context } from "../context.ts";
import { argumentsOf, builder, type InputTypes, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType, type PageArguments, type PageOptions } from "../graphql/connections.ts";
import { logCondition, logFilter, metadataMatch } from "./filter.inputs.ts";
import { logsInput } from "./listing.inputs.ts";
import { type Found, keyOf, logs } from "./listing.resolvers.ts";
import { traces } from "./traceListing.resolvers.ts";
import { LogConnection, LogStatus, LogType, Trace } from "./types.ts";

const conditions: InputTypes = {
  ...{ slug: ["String"], version: ["String"], tag: ["String"], userId: ["String"] },
  ...{
    organizationId: ["String"],
    type: [LogType],
    model: ["String"],
    status: [LogStatus],
    from: "DateTime",
    to: "DateTime",
  },
};
export const LogCondition = inputTypeOf("LogCondition", logCondition, (self) => ({
  ...conditions,
  and: [self],
  or: [self],
  not: self,
}));
const LogFilter = inputTypeOf("LogFilter", logFilter, {
  ...conditions,
  and: [LogCondition],
  or: [LogCondition],
  not: LogCondition,
  metadata: [inputTypeOf("MetadataMatch", metadataMatch, { value: "JSON?" })],
});

type QueryFields = Parameters<Parameters<typeof builder.queryFields>[0]>[0];

const listArguments = (t: QueryFields) => argumentsOf(t, logsInput, { filter: LogFilter });

/** The entity of a log takes 9 to 15 kB of memory, of which the budget of an answer counts about a quarter. */
const LOG_BYTES = 4_000;

/** A connection of entities, whose cursors are their places. */
async function connectFound<Entity>(
  context: Context,
  args: PageArguments,
  reading: Pick<PageOptions<Found<Entity>>, "read" | "entryBytes">,
) {
  const { edges, pageInfo } = await connect(context, args, {
    ...reading,
    key: ({ place }) => keyOf(place),
  });
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
      connectFound(context, args, {
        read: (page) => logs(context, { filter, ...page }),
        entryBytes: LOG_BYTES,
      }),
  }),
  traces: t.field({
    type: connectionType(Trace, "traces"),
    description:
      "The traces that have such a log, the latest first, each once: at its newest such log, and without a filter at its own start. New traces do not shift the pages.",
    args: listArguments(t),
    resolve: (_, { filter, ...args }, context) =>
      connectFound(context, args, { read: (page) => traces(context, { filter, ...page }) }),
  }),
}));
