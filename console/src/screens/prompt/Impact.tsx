import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import { Facts } from "../../parts/Facts.tsx";
import { formatCount } from "../../parts/format.ts";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import { Card } from "../../parts/Page.tsx";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { DiffTable } from "./DiffTable.tsx";
import { compareLines } from "./diffLines.ts";
import { ImpactADay } from "./ImpactADay.tsx";
import { type Rendering, useImpact } from "./useImpact.ts";

interface Props {
  slug: string;
  from: string;
  to: string;
}

const MAX_SHOWN = 10;

const charactersOf = ({ before, after }: Rendering) => after.length - before.length;

/** What the latest calls would have sent to the model with another version. */
export function Impact({ slug, from, to }: Props) {
  const { renderings, total, error } = useImpact({ slug, from, to });
  const [shown, setShown] = useState<string | null>(null);
  if (error) return <ErrorNotice error={error} />;
  if (total === 0)
    return (
      <Empty title="No log has variables to render">
        Report the variables of calls with <code>logPrompt</code>, and this shows what another version makes
        of them.
      </Empty>
    );
  const isDone = renderings.length === total;
  const changed = renderings
    .filter(({ before, after }) => before !== after)
    .toSorted((a, b) => b.startTime.localeCompare(a.startTime))
    .toSorted((a, b) => Math.abs(charactersOf(b)) - Math.abs(charactersOf(a)));
  const incomplete = renderings.filter(({ missing }) => missing !== null);
  const growth = renderings.reduce((sum, one) => sum + charactersOf(one), 0) / Math.max(1, renderings.length);
  const open = changed.find(({ logId }) => logId === shown) ?? changed[0];
  return (
    <>
      <Card title={`The latest calls, rendered with ${to} instead of ${from}`}>
        <Facts
          facts={[
            {
              name: "Rendered",
              value: isDone ? formatCount(total) : `${renderings.length} of ${total ?? "…"}`,
            },
            { name: "Would change", value: formatCount(changed.length) },
            { name: "With empty variables", value: formatCount(incomplete.length) },
            {
              name: "Characters a call",
              value: `${growth > 0 ? "+" : ""}${formatCount(Math.round(growth))}`,
            },
          ]}
        />
      </Card>
      <ImpactADay slug={slug} renderings={isDone ? renderings : []} />
      {isDone && changed.length === 0 && <Empty title="None of them would change" />}
      {isDone && open && <Difference key={open.logId} rendering={open} />}
      {isDone && changed.length > 0 && (
        <Table
          label="The largest differences"
          columns={columnsOf(setShown)}
          rows={changed.slice(0, MAX_SHOWN)}
          keyOf={({ logId }) => logId}
        />
      )}
    </>
  );
}

const columnsOf = (onShow: (logId: string) => void): Column<Rendering>[] => [
  {
    name: "Call",
    cell: ({ logId, startTime }) => (
      <Link to="/logs/$id" params={{ id: logId }}>
        <Time at={startTime} as="clock" />
      </Link>
    ),
  },
  { name: "Empty variables", isWide: true, isOptional: true, cell: ({ missing }) => missing ?? "none" },
  {
    name: "Characters",
    align: "end",
    cell: (one) => `${charactersOf(one) > 0 ? "+" : ""}${formatCount(charactersOf(one))}`,
  },
  {
    name: "Difference",
    align: "end",
    cell: ({ logId }) => (
      <Button size="small" onClick={() => onShow(logId)}>
        Show
      </Button>
    ),
  },
];

function Difference({ rendering }: { rendering: Rendering }) {
  const lines = useMemo(() => compareLines(rendering.before, rendering.after), [rendering]);
  return <DiffTable label="What the call would have sent" lines={lines} />;
}
