import { graphql } from "../../gql/index.ts";

/** What calls took together; apart from the screen, as the overview shows it, too. */
export const UsageFigures = graphql(`
  fragment UsageFigures on Usage {
    key
    promptSlug
    logs
    unpricedLogs
    failedLogs
    cost
    inputTokens
    outputTokens
    totalTokens
    p50LatencyMs
    p95LatencyMs
    p99LatencyMs
  }
`);
