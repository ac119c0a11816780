/** The operations the playground opens with, one tab each; their values belong to the sample workspace. */
export const examples: Example[] = [
  {
    query: `query ReadDataset($slug: String!) {
  dataset(slug: $slug) {
    slug
    name
    version
    columns {
      name
      type
    }
    rowCount
    rows(first: 5) {
      nodes {
        id
        values
        idealOutput
        metadata
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
    warning
  }
}
`,
    variables: { slug: "country-quiz" },
  },
  {
    query: `mutation AddRow($slug: String!, $input: DatasetItemInput!) {
  addDatasetItem(slug: $slug, input: $input) {
    datasetRow {
      id
      name
      values
      idealOutput
      metadata
    }
    warning
  }
}
`,
    variables: {
      slug: "country-quiz",
      input: {
        name: "from the playground",
        values: { question: "Which country has the city of Nairobi as its capital?" },
        idealOutput: "Kenya",
      },
    },
  },
  {
    query: `query DescribePrompt($slug: String!, $version: String, $tag: String) {
  describePrompt(slug: $slug, version: $version, tag: $tag) {
    slug
    name
    status
    description
    availableVersions
    availableTags
    variables {
      label
      type
      description
    }
    version
    tag
    warning
  }
}
`,
    variables: { slug: "country-guide", tag: "production" },
  },
  {
    query: `mutation LogPrompt($input: LogPromptInput!) {
  logPrompt(input: $input) {
    trace {
      id
      name
    }
    log {
      id
      inputTokens
      outputTokens
      cost
      costSource
      latencyMs
    }
    warning
  }
}
`,
    variables: {
      input: {
        slug: "country-guide",
        input: "What is the capital of France?",
        output: "Paris is the capital of France.",
        variables: [{ label: "country", value: "France" }],
        startTime: 1760000000000,
        endTime: 1760000001200,
      },
    },
  },
  {
    query: `mutation AddVersionOfMessages($slug: String!, $input: PromptVersionInput!) {
  createPromptVersion(slug: $slug, input: $input) {
    promptVersion {
      id
      version
      messages {
        role
        content
        placeholder
      }
      variables {
        label
      }
    }
    warnings {
      code
      message
    }
  }
}
`,
    variables: {
      slug: "country-guide",
      input: {
        version: "from-the-playground",
        messages: [
          { role: "system", content: "You know every country." },
          { placeholder: "history" },
          { role: "user", content: "Tell me about {{ country }}." },
        ],
      },
    },
  },
  {
    query: `query CompareDatasetVersions($slug: String!) {
  datasetDiff(slug: $slug, from: { version: 1 }, to: { tag: "latest" }, first: 5) {
    columnChanges {
      kind
      before {
        name
        type
      }
      after {
        name
        type
      }
    }
    nodes {
      kind
      before {
        values
      }
      after {
        values
      }
    }
  }
}
`,
    variables: { slug: "country-quiz" },
  },
  {
    query: `subscription WatchLogs($slug: String) {
  logAdded(slug: $slug) {
    id
    startTime
    input
    output
    cost
    latencyMs
  }
}
`,
    variables: { slug: "country-guide" },
  },
];

export type Example = { query: string; variables: Record<string, unknown> };
