import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { UsageFiguresFragment } from "../../gql/graphql.ts";
import { readFragment } from "../../gql/index.ts";
import { BarChart, Share } from "../../parts/BarChart.tsx";
import { FilterBar, Select } from "../../parts/Field.tsx";
import { dayOf, formatCompact, formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Card, Page } from "../../parts/Page.tsx";
import { periodChoices, periodOf } from "../../parts/period.ts";
import { type Column, Table } from "../../parts/Table.tsx";
import { UsageFigures } from "../usage/figures.ts";
import { Figures } from "./Figures.tsx";
import styles from "./Overview.module.css";
import { OverviewOfUsage, variablesOf } from "./query.ts";
import { RejectedNotice } from "./RejectedNotice.tsx";

const route = getRouteApi("/shell/overview");

const charts: {
  title: string;
  of: (day: UsageFiguresFragment) => number | null;
  format: (value: number | null) => string;
}[] = [
  { title: "Calls by day", of: ({ logs }) => logs, format: formatCompact },
  { title: "Cost by day", of: ({ cost }) => cost, format: formatCost },
  { title: "Errors by day", of: ({ failedLogs }) => failedLogs, format: formatCount },
  { title: "Latency by day, 95 %", of: ({ p95LatencyMs }) => p95LatencyMs ?? null, format: formatLatency },
];

export function Overview() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { days, from, to } = periodOf(search.period, "7");
  const period = { day: dayOf(new Date(from)), to: dayOf(new Date(new Date(to).getTime() - 1)) };
  const result = useData(OverviewOfUsage, variablesOf(search));
  const choose = (period: string) => void navigate({ search: { period }, replace: true });
  return (
    <Page
      title="Overview"
      actions={
        <FilterBar>
          <Select
            label="Period"
            choices={periodChoices}
            value={days}
            onChange={(event) => choose(event.target.value)}
          />
        </FilterBar>
      }
    >
      <Loaded result={result}>
        {(data) => {
          const [now] = readFragment(UsageFigures, data.now.nodes);
          const [earlier] = readFragment(UsageFigures, data.before.nodes);
          if (!now || now.logs === 0) return <NoCalls hasEarlier={(earlier?.logs ?? 0) > 0} />;
          const byDay = readFragment(UsageFigures, data.days.nodes);
          return (
            <>
              <Figures now={now} before={earlier} />
              <RejectedNotice />
              <div className={styles.pair}>
                {charts.map(({ title, of, format }) => (
                  <Card key={title} title={title}>
                    <BarChart
                      label={title}
                      bars={byDay.map((day) => ({ day: day.key ?? "", value: of(day) }))}
                      format={format}
                    />
                  </Card>
                ))}
              </div>
              <div className={styles.pair}>
                <Top by="Prompt" period={period} rows={readFragment(UsageFigures, data.prompts.nodes)} />
                <Top by="Model" period={period} rows={readFragment(UsageFigures, data.models.nodes)} />
              </div>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function NoCalls({ hasEarlier }: { hasEarlier: boolean }) {
  if (hasEarlier) return <Empty title="No calls in this period">Choose a longer one.</Empty>;
  return (
    <Empty title="No calls yet" action={<Link to="/prompts">Look at your prompts</Link>}>
      Applications ask Gabbro for a prompt, call a model with it, and report the call with{" "}
      <code>logPrompt</code>. What the calls cost and how long they took then shows here.
    </Empty>
  );
}

/** The groups with the most calls. */
function Top({
  by,
  rows,
  period,
}: {
  by: "Prompt" | "Model";
  rows: readonly UsageFiguresFragment[];
  period: { day: string; to: string };
}) {
  const most = Math.max(...rows.map(({ logs }) => logs));
  const columns: Column<UsageFiguresFragment>[] = [
    {
      name: by,
      isWide: true,
      cell: ({ key }) =>
        key && by === "Prompt" ? (
          <Link to="/logs" search={{ slug: key, ...period }}>
            {key}
          </Link>
        ) : (
          (key ?? <span className={styles.none}>no {by.toLowerCase()}</span>)
        ),
    },
    {
      name: "Calls",
      align: "end",
      cell: ({ logs }) => (
        <>
          {formatCount(logs)}
          <Share value={logs} of={most} />
        </>
      ),
    },
    { name: "Errors", align: "end", isOptional: true, cell: ({ failedLogs }) => formatCount(failedLogs) },
    { name: "Cost", align: "end", cell: ({ cost }) => formatCost(cost) },
    {
      name: "Latency, 95 %",
      align: "end",
      isOptional: true,
      cell: ({ p95LatencyMs }) => formatLatency(p95LatencyMs),
    },
  ];
  return (
    <Table label={`By ${by.toLowerCase()}`} columns={columns} rows={rows} keyOf={({ key }) => String(key)} />
  );
}
