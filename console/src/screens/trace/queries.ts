import type { StepDetailQuery, StepsQuery, TraceHeadQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";

export const TraceHead = graphql(`
  query TraceHead($id: ID!) {
    trace(id: $id) {
      id
      externalId
      name
      startTime
      durationMs
      logCount
      errorCount
      cost
      unpricedCount
      usage {
        inputTokens
        cacheReadTokens
        cacheWriteTokens
        outputTokens
        reasoningTokens
      }
      environment
      sessionId
      user {
        id
        name
      }
      organization {
        id
        name
      }
      complete
    }
  }
`);

/**
 * What the tree and the waterfall show of each step. Parents and what is below follow from the order and the depths; the
 * texts, which only a search needs, would make the answer two to three times as large.
 */
export const Steps = graphql(`
  query Steps($id: ID!, $after: String, $withTexts: Boolean!) {
    trace(id: $id) {
      id
      logs(first: 2000, after: $after) {
        nodes {
          id
          depth
          missingParent
          name
          type
          status
          offsetMs
          durationMs
          inputPreview @include(if: $withTexts)
          outputPreview @include(if: $withTexts)
          subtree {
            errors
            cost
            inputTokens
            outputTokens
          }
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

export const StepDetail = graphql(`
  query StepDetail($id: ID!) {
    log(id: $id) {
      id
      externalId
      name
      type
      status
      statusMessage
      startTime
      durationMs
      timeToFirstTokenMs
      missingParent
      input
      output
      idealOutput
      metadata
      attributes
      events {
        name
        time
        attributes
      }
      variables {
        label
        value
      }
      version
      tag
      model
      cost
      costSource
      usage {
        ...UsageParts
      }
      reportedUsage {
        ...UsageParts
      }
      subtree {
        logs
        errors
        cost
        inputTokens
        outputTokens
      }
      prompt {
        id
        slug
      }
    }
  }
`);

export const UsageParts = graphql(`
  fragment UsageParts on TokenUsage {
    inputTokens
    cacheReadTokens
    cacheWriteTokens
    outputTokens
    reasoningTokens
  }
`);

export const TraceChanged = graphql(`
  subscription TraceChanged($id: ID!) {
    traceChanged(id: $id) {
      id
    }
  }
`);

export type TraceFacts = NonNullable<TraceHeadQuery["trace"]>;
export type Step = NonNullable<StepsQuery["trace"]>["logs"]["nodes"][number];
export type StepDetails = NonNullable<StepDetailQuery["log"]>;
