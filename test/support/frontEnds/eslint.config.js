import graphql from "@graphql-eslint/eslint-plugin";

/** Values within something that has an id, and results that are computed: a cache cannot keep them by themselves. */
const withoutId = [
  ...[
    "ChatMessage",
    "DatasetColumn",
    "LoggedVariable",
    "Party",
    "PromptMessage",
    "PromptModel",
    "PromptVariable",
    "VersionSource",
  ],
  ...[
    "DatasetColumnChange",
    "DatasetItemError",
    "DatasetRowChange",
    "InputError",
    "PageInfo",
    "PromptChange",
    "Warning",
  ],
  // What the caller asks for selects them; they lead to the prompt and its version, which have ids.
  ...["PromptDescription", "RenderedPrompt", "ServedPrompt"],
  ...["Usage", "LogCount", "TokenUsage", "Subtree", "LogEvent"],
  // What a workspace has one of, and its runs, which are not kept.
  ...["Retention", "RetentionRun", "PastRetentionRun", "Checkup", "Finding"],
];

export default [
  {
    files: ["**/*.graphql"],
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: "schema.graphql" } },
    },
    plugins: { "@graphql-eslint": graphql },
    rules: {
      ...graphql.configs["flat/schema-recommended"].rules,
      "@graphql-eslint/relay-connection-types": "error",
      "@graphql-eslint/relay-edge-types": [
        "error",
        // Lists that cannot grow are plain. Groups of a report and changes between two versions are computed: they have no id.
        { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false },
      ],
      "@graphql-eslint/relay-page-info": "error",
      // Where an order is costly to read backwards, a list goes forwards only: the API guide names those that do not.
      "@graphql-eslint/relay-arguments": ["error", { includeBoth: false }],
      "@graphql-eslint/strict-id-in-types": [
        "error",
        { exceptions: { types: withoutId, suffixes: ["Connection", "Edge", "Payload"] } },
      ],
    },
  },
];
