import { Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Facts } from "../../parts/Facts.tsx";
import { formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { ErrorNotice } from "../../parts/Notice.tsx";
import { periodOf } from "../../parts/period.ts";

const UsageOfVersions = graphql(`
  query UsageOfVersions($from: DateTime!, $to: DateTime!, $slug: String!) {
    usage(from: $from, to: $to, slug: $slug, groupBy: VERSION) {
      nodes {
        key
        logs
        failedLogs
        cost
        p95LatencyMs
      }
    }
  }
`);

/** What the calls of a version took in the last 30 days, and the way to them. */
export function VersionUsage({ slug, version }: { slug: string; version: string }) {
  const { from, to } = periodOf("30");
  const { data, error, retry } = useData(UsageOfVersions, { from, to, slug });
  const own = data?.usage.nodes.find(({ key }) => key === version);
  const known = (text: string) => (data ? text : "–"); // what is below stays where it is
  return (
    <section aria-label="The last 30 days">
      <h2>The last 30 days</h2>
      {error && <ErrorNotice error={error} onRetry={retry} />}
      <Facts
        facts={[
          {
            name: "Calls",
            value: (
              <Link to="/logs" search={{ slug, version, since: "month" }}>
                {known(formatCount(own?.logs ?? 0))}
              </Link>
            ),
          },
          { name: "Errors", value: known(formatCount(own?.failedLogs ?? 0)) },
          { name: "Cost", value: known(formatCost(own?.cost ?? 0)) },
          { name: "Latency, 95 %", value: formatLatency(own?.p95LatencyMs) },
          {
            name: "Beside others",
            value: (
              <Link to="/usage" search={{ slug, by: "version" }}>
                Usage by version
              </Link>
            ),
          },
        ]}
      />
    </section>
  );
}
