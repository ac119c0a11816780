import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { formatCount } from "../../parts/format.ts";
import { Notice } from "../../parts/Notice.tsx";

const MAX_ITEMS = 100;

const LatestRejected = graphql(`
  query LatestRejected {
    rejectedItems(first: 100) {
      nodes {
        id
        count
      }
    }
  }
`);

/** Says to administrators that clients sent what was not taken, as it shows nowhere else. */
export function RejectedNotice() {
  const { session } = getRouteApi("/shell").useRouteContext();
  const { data } = useData(LatestRejected, {}, { isPaused: !session.scopes.includes("admin") });
  const items = data?.rejectedItems.nodes ?? [];
  if (items.length === 0) return null;
  const times = items.reduce((sum, { count }) => sum + count, 0);
  return (
    <Notice>
      Clients sent {items.length === MAX_ITEMS ? "more than " : ""}
      {formatCount(times)} {times === 1 ? "item" : "items"} in the last 7 days that Gabbro did not take.{" "}
      <Link to="/settings">See what, and why</Link>
    </Notice>
  );
}
