import { Link } from "@tanstack/react-router";
import type { TraceOfListFragment } from "../../gql/graphql.ts";
import { type FragmentType, graphql, readFragment } from "../../gql/index.ts";
import { Badge } from "../../parts/Badge.tsx";
import { formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";

const TraceOfListParts = graphql(`
  fragment TraceOfList on Trace {
    id
    name
    startTime
    durationMs
    logCount
    errorCount
    cost
    unpricedCount
    sessionId
    complete
    user {
      id
      name
    }
  }
`);

type Trace = TraceOfListFragment;

const columns: Column<Trace>[] = [
  {
    name: "Trace",
    isWide: true,
    cell: ({ id, name, complete }) => (
      <>
        <Link to="/traces/$id" params={{ id }}>
          {name}
        </Link>{" "}
        {!complete && <Badge tone="warn">spans missing</Badge>}
      </>
    ),
  },
  { name: "Start", cell: ({ startTime }) => <Time at={startTime} /> },
  { name: "Duration", align: "end", isOptional: true, cell: ({ durationMs }) => formatLatency(durationMs) },
  { name: "Logs", align: "end", isOptional: true, cell: ({ logCount }) => formatCount(logCount) },
  {
    name: "Errors",
    align: "end",
    isOptional: true,
    cell: ({ errorCount }) => (errorCount > 0 ? <Badge tone="bad">{formatCount(errorCount)}</Badge> : "0"),
  },
  {
    name: "Cost",
    align: "end",
    cell: ({ cost, unpricedCount }) => (
      <span title={unpricedCount > 0 ? `${formatCount(unpricedCount)} calls have no known price` : undefined}>
        {formatCost(cost)}
        {unpricedCount > 0 && "+"}
      </span>
    ),
  },
  { name: "User", isOptional: true, cell: ({ user }) => user?.name ?? user?.id ?? "–" },
  { name: "Session", isOptional: true, isLine: true, cell: ({ sessionId }) => sessionId ?? "–" },
];

const orders: Record<string, (trace: Trace) => number> = {
  cost: ({ cost }) => cost,
  duration: ({ durationMs }) => durationMs ?? 0,
  errors: ({ errorCount }) => errorCount,
};

export function TraceTable({
  traces,
  sort,
}: {
  traces: readonly FragmentType<typeof TraceOfListParts>[];
  sort: string | undefined;
}) {
  const rows = readFragment(TraceOfListParts, traces);
  const order = sort === undefined ? undefined : orders[sort];
  const sorted = order ? rows.toSorted((a, b) => order(b) - order(a)) : rows;
  return <Table label="Traces" columns={columns} rows={sorted} keyOf={({ id }) => id} rowsAre="links" />;
}
