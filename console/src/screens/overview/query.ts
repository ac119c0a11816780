import type { Client } from "urql";
import type { OverviewQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { periodOf, timeZone } from "../../parts/period.ts";

export const OverviewOfUsage = graphql(`
  query Overview($from: DateTime!, $to: DateTime!, $beforeFrom: DateTime!, $beforeTo: DateTime!, $timeZone: String!) {
    now: usage(from: $from, to: $to) {
      nodes {
        ...UsageFigures
      }
    }
    before: usage(from: $beforeFrom, to: $beforeTo) {
      nodes {
        ...UsageFigures
      }
    }
    days: usage(from: $from, to: $to, groupBy: DAY, timeZone: $timeZone) {
      nodes {
        ...UsageFigures
      }
    }
    prompts: usage(from: $from, to: $to, groupBy: PROMPT, first: 6) {
      nodes {
        ...UsageFigures
      }
    }
    models: usage(from: $from, to: $to, groupBy: MODEL, first: 6) {
      nodes {
        ...UsageFigures
      }
    }
  }
`);

export function variablesOf({ period }: { period?: string }) {
  const { from, to, before } = periodOf(period, "7");
  return { from, to, beforeFrom: before.from, beforeTo: before.to, timeZone };
}

/** Asks for the figures before the screen is rendered, which then takes them from the same answer. */
export function prefetchOverview(client: Client, search: { period?: string }): void {
  void client.query<OverviewQuery>(String(OverviewOfUsage), variablesOf(search)).toPromise();
}
