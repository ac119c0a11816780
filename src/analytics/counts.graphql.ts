import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { LogCondition } from "../logs/listing.graphql.ts";
import { logCountsInput } from "./counts.inputs.ts";
import { type LogCount, logCounts } from "./counts.resolvers.ts";
import { GROUPS, MAX_GROUPS } from "./inputs.ts";

const LogGroup = builder.enumType("LogGroup", {
  description: "What logs are counted by.",
  values: {
    PROMPT: { description: "By the slug of the prompt." },
    VERSION: {
      description:
        "By version: those of several prompts with one name together, unless the filter has a slug.",
    },
    MODEL: { description: "By the name of the model." },
    USER: { description: "By the id of the user, which a span has if it names the user itself." },
    ORGANIZATION: {
      description: "By the id of the organization, which a span has if it names the organization itself.",
    },
    STATUS: { description: "By how they ended: `ok` or `error`." },
  } as const,
});

const LogCountType = builder.objectRef<LogCount>("LogCount").implement({
  description: "How many logs have something in common.",
  fields: (t) => ({
    key: t.exposeString("key", {
      nullable: true,
      description:
        "What they have in common: the slug, the version, the name of the model, the id or the status; null for logs that have none.",
    }),
    logs: t.exposeFloat("logs", {
      description: "How many logs there are, those included whose usage does not count.",
    }),
  }),
});

builder.queryField("logCounts", (t) =>
  t.field({
    type: connectionType(LogCountType, "counts of logs"),
    description:
      "How many logs of a period there are by group, as `logs` lists them: the groups with the most first. They are paged as those of `usage`.",
    args: argumentsOf(t, logCountsInput, {
      from: "DateTime!",
      to: "DateTime!",
      groupBy: LogGroup,
      filter: LogCondition,
    }),
    extensions: { maxPageEntries: MAX_GROUPS },
    resolve: (_, { first, after, ...input }, context) =>
      connect(
        context,
        { first, after },
        {
          read: (page) => logCounts(context, { ...input, ...page }),
          key: ({ sortKey }) => sortKey,
          size: GROUPS,
        },
      ),
  }),
);
