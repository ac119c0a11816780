import { Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { UsageFiguresFragment } from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import { BarChart, Share } from "../../parts/BarChart.tsx";
import { Chips } from "../../parts/Chips.tsx";
import { FilterBar, Select } from "../../parts/Field.tsx";
import { formatCost, formatCount, formatDay, formatLatency } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Card, Page } from "../../parts/Page.tsx";
import { periodChoices, periodOf, timeZone } from "../../parts/period.ts";
import { type Column, Table } from "../../parts/Table.tsx";
import { groups, measures } from "./measures.ts";
import { usageRoute } from "./route.ts";

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

const UsageReport = graphql(`
  query UsageReport($from: DateTime!, $to: DateTime!, $groupBy: UsageGroup!, $slug: String, $timeZone: String!) {
    usage(from: $from, to: $to, groupBy: $groupBy, slug: $slug, timeZone: $timeZone, first: 200) {
      nodes {
        ...UsageFigures
      }
      pageInfo {
        hasNextPage
      }
    }
  }
`);

export function Usage() {
  const search = usageRoute.useSearch();
  const navigate = usageRoute.useNavigate();
  const { days, from, to } = periodOf(search.period);
  const grouping = groups.find(({ value }) => value === search.by) ?? groups[0]!;
  const measure = measures.find(({ value }) => value === search.measure) ?? measures[0]!;
  const variables = { from, to, groupBy: grouping.group, slug: search.slug ?? null, timeZone };
  const result = useData(UsageReport, variables);
  const change = (part: Partial<typeof search>) =>
    void navigate({ search: (now) => ({ ...now, ...part }), replace: true });
  return (
    <Page title="Usage" about="What the calls of your applications took together.">
      <FilterBar>
        <Select
          label="Group"
          choices={groups}
          value={grouping.value}
          onChange={(event) => change({ by: event.target.value })}
        />
        <Select
          label="Measure"
          choices={measures}
          value={measure.value}
          onChange={(event) => change({ measure: event.target.value })}
        />
        <Select
          label="Period"
          choices={periodChoices}
          value={days}
          onChange={(event) => change({ period: event.target.value })}
        />
        <Chips search={search} names={{ slug: "Prompt" }} onRemove={() => change({ slug: undefined })} />
      </FilterBar>
      <Loaded result={result}>
        {({ usage: { nodes, pageInfo } }) => {
          const rows = readFragment(UsageFigures, nodes);
          if (rows.every(({ logs }) => logs === 0))
            return (
              <Empty title="No calls in this period">
                Choose a longer one, or report calls with logPrompt.
              </Empty>
            );
          return (
            <>
              {grouping.value === "day" && (
                <Card title={measure.label}>
                  <BarChart
                    label={`${measure.label} by day`}
                    bars={rows.map((row) => ({ day: row.key ?? "", value: measure.of(row) }))}
                    format={measure.format}
                  />
                </Card>
              )}
              <Table
                label="Usage"
                columns={columnsOf(grouping, measure, rows)}
                rows={grouping.value === "day" ? rows.toReversed() : rows}
                keyOf={({ key, promptSlug }) => `${promptSlug} ${key}`}
              />
              {pageInfo.hasNextPage && <p>The 200 groups with the most calls.</p>}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

type Row = UsageFiguresFragment;

function columnsOf(
  { value: by, label }: (typeof groups)[number],
  measure: (typeof measures)[number],
  rows: readonly Row[],
): Column<Row>[] {
  const most = Math.max(...rows.map(measure.of));
  return [
    {
      name: label.replace("By ", "").replace(/^./, (letter) => letter.toUpperCase()),
      isWide: true,
      cell: (row) => nameOf(by, row),
    },
    {
      name: measure.label,
      align: "end",
      cell: (row) => (
        <>
          {measure.format(measure.of(row))}
          <Share value={measure.of(row)} of={most} />
        </>
      ),
    },
    ...otherColumns.filter(({ name }) => name !== measure.label),
  ];
}

const otherColumns: Column<Row>[] = [
  { name: "Calls", align: "end", cell: ({ logs }) => formatCount(logs) },
  { name: "Cost", align: "end", isOptional: true, cell: ({ cost }) => formatCost(cost) },
  { name: "Unpriced", align: "end", isOptional: true, cell: ({ unpricedLogs }) => formatCount(unpricedLogs) },
  { name: "Tokens in", align: "end", isOptional: true, cell: ({ inputTokens }) => formatCount(inputTokens) },
  {
    name: "Tokens out",
    align: "end",
    isOptional: true,
    cell: ({ outputTokens }) => formatCount(outputTokens),
  },
  {
    name: "Latency, 50 %",
    align: "end",
    isOptional: true,
    cell: ({ p50LatencyMs }) => formatLatency(p50LatencyMs),
  },
  {
    name: "Latency, 95 %",
    align: "end",
    isOptional: true,
    cell: ({ p95LatencyMs }) => formatLatency(p95LatencyMs),
  },
];

/** The name of a group; it leads to its logs, where logs can be filtered by it. */
function nameOf(by: string, { key, promptSlug }: Row) {
  if (key === null || key === undefined) return "none";
  if (by === "day")
    return (
      <Link to="/logs" search={{ day: key }}>
        {formatDay(key)}
      </Link>
    );
  if (by === "prompt")
    return (
      <Link to="/logs" search={{ slug: key }}>
        {key}
      </Link>
    );
  if (by === "version")
    return (
      <Link to="/logs" search={{ slug: promptSlug ?? undefined, version: key }}>
        {promptSlug} {key}
      </Link>
    );
  if (by === "user")
    return (
      <Link to="/logs" search={{ user: key }}>
        {key}
      </Link>
    );
  return key;
}
