import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { UsageFiguresFragment } from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import { BarChart, Share } from "../../parts/BarChart.tsx";
import { Button } from "../../parts/Button.tsx";
import { dayOf, formatCost, formatCount, formatDay, formatLatency } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Card, Page } from "../../parts/Page.tsx";
import { periodOf, rangeOf, timeZone } from "../../parts/period.ts";
import { saveFile } from "../../parts/saveFile.ts";
import { type Column, Table } from "../../parts/Table.tsx";
import type { LogSearch } from "../logs/filter.ts";
import { UsageFigures } from "./figures.ts";
import { groups, measures } from "./measures.ts";
import { UsageFilters } from "./UsageFilters.tsx";
import { usageCsv } from "./usageCsv.ts";

const route = getRouteApi("/shell/usage");

const UsageReport = graphql(`
  query UsageReport($from: DateTime!, $to: DateTime!, $groupBy: UsageGroup!, $slug: String, $timeZone: String!, $first: Int) {
    usage(from: $from, to: $to, groupBy: $groupBy, slug: $slug, timeZone: $timeZone, first: $first) {
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
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const grouping = groups.find(({ value }) => value === search.by) ?? groups[0]!;
  const measure = measures.find(({ value }) => value === search.measure) ?? measures[0]!;
  const { from, to } = rangeOf(search.from, search.to) ?? periodOf(search.period);
  const isByDay = grouping.value === "day";
  const first = isByDay ? null : 200; // of days all come
  const variables = { from, to, groupBy: grouping.group, slug: search.slug ?? null, timeZone, first };
  const lastDay = dayOf(new Date(new Date(to).getTime() - 1));
  const filters = { slug: search.slug, day: dayOf(new Date(from)), to: lastDay };
  const result = useData(UsageReport, variables);
  const change = (part: Partial<typeof search>) =>
    void navigate({ search: (now) => ({ ...now, ...part }), replace: true });
  // A brush is a step back in the history away from the whole chart.
  const brush = (first: string, last: string) =>
    void navigate({ search: (now) => ({ ...now, period: undefined, from: first, to: last }) });
  return (
    <Page title="Usage" about="What the calls of your applications took together.">
      <UsageFilters search={search} grouping={grouping} measure={measure} onChange={change} />
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
              {isByDay && (
                <Card title={measure.label}>
                  <BarChart
                    label={`${measure.label} by day`}
                    bars={rows.map((row) => ({ day: row.key ?? "", value: measure.of(row) }))}
                    format={measure.format}
                    filters={{ slug: search.slug }}
                    onBrush={brush}
                  />
                </Card>
              )}
              <Table
                label="Usage"
                columns={columnsOf(grouping, measure, rows, filters)}
                rows={isByDay ? rows.toReversed() : mostFirst(rows, measure)}
                keyOf={({ key, promptSlug }) => `${promptSlug} ${key}`}
              />
              {pageInfo.hasNextPage && <p>The 200 groups with the most calls.</p>}
              <div>
                <Button
                  onClick={() => saveFile(usageCsv(grouping.value, rows), `usage-by-${grouping.value}.csv`)}
                >
                  Save as CSV
                </Button>
              </div>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

type Row = UsageFiguresFragment;

const mostFirst = (rows: readonly Row[], { of }: (typeof measures)[number]) =>
  rows.toSorted((a, b) => (of(b) ?? -1) - (of(a) ?? -1));

function columnsOf(
  { value: by, label }: (typeof groups)[number],
  measure: (typeof measures)[number],
  rows: readonly Row[],
  filters: LogSearch,
): Column<Row>[] {
  const most = Math.max(...rows.map((row) => measure.of(row) ?? 0));
  return [
    {
      name: label.replace("By ", "").replace(/^./, (letter) => letter.toUpperCase()),
      isWide: true,
      cell: (row) => nameOf(by, row, filters),
    },
    {
      name: measure.label,
      align: "end",
      cell: (row) => (
        <>
          {measure.format(measure.of(row))}
          <Share value={measure.of(row) ?? 0} of={most} />
        </>
      ),
    },
    ...otherColumns.filter(({ name }) => name !== measure.label),
  ];
}

const otherColumns: Column<Row>[] = [
  { name: "Calls", align: "end", cell: ({ logs }) => formatCount(logs) },
  { name: "Cost", align: "end", isOptional: true, cell: ({ cost }) => formatCost(cost) },
  { name: "Errors", align: "end", isOptional: true, cell: ({ failedLogs }) => formatCount(failedLogs) },
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
function nameOf(by: string, { key, promptSlug }: Row, filters: LogSearch) {
  if (key === null || key === undefined) return "none";
  const name = by === "day" ? formatDay(key) : by === "version" ? `${promptSlug} ${key}` : key;
  const group = groupFilters(by, key, promptSlug ?? undefined);
  return group ? (
    <Link to="/logs" search={{ ...filters, ...group }}>
      {name}
    </Link>
  ) : (
    name
  );
}

function groupFilters(by: string, key: string, promptSlug: string | undefined): LogSearch | null {
  if (by === "day") return { day: key, to: undefined };
  if (by === "prompt") return { slug: key };
  if (by === "version") return { slug: promptSlug, version: key };
  if (by === "user") return { user: key };
  return by === "model" ? { model: key } : null;
}
