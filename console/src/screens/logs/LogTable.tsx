import { Link } from "@tanstack/react-router";
import type { LogOfListFragment } from "../../gql/graphql.ts";
import { type FragmentType, graphql, readFragment } from "../../gql/index.ts";
import { formatCost, formatCount, formatJson, formatLatency } from "../../parts/format.ts";
import { messageText } from "../../parts/messages.ts";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import styles from "./Logs.module.css";

const LogOfListParts = graphql(`
  fragment LogOfList on Log {
    id
    startTime
    input
    output
    version
    model
    totalTokens
    cost
    costSource
    latencyMs
    trace {
      id
      name
    }
    prompt {
      id
      slug
    }
  }
`);

export type LogOfList = FragmentType<typeof LogOfListParts>;

const MAX_SHOWN_CHARACTERS = 400;

const start = (value: unknown): string =>
  value == null ? "" : (messageText(value) ?? formatJson(value)).slice(0, MAX_SHOWN_CHARACTERS);

const columns: Column<LogOfListFragment>[] = [
  {
    name: "Time",
    cell: ({ id, startTime }) => (
      <Link to="/logs/$id" params={{ id }} className={styles.when}>
        <Time at={startTime} />
      </Link>
    ),
  },
  {
    name: "Prompt",
    isOptional: true,
    cell: ({ prompt, trace, version }) => (
      <div className={styles.prompt}>
        {prompt?.slug ?? trace.name}
        <div className={styles.version}>{version ?? "no version"}</div>
      </div>
    ),
  },
  {
    name: "Output",
    isWide: true,
    cell: ({ input, output }) => (
      <>
        <div className={styles.output}>{start(output)}</div>
        <div className={styles.input}>{start(input)}</div>
      </>
    ),
  },
  {
    name: "Tokens",
    align: "end",
    isOptional: true,
    cell: ({ totalTokens }) => (totalTokens == null ? "–" : formatCount(totalTokens)),
  },
  {
    name: "Cost",
    align: "end",
    isOptional: true,
    cell: ({ cost, costSource }) => (
      <span title={costSource === "UNPRICED" ? "No price of the model is known" : undefined}>
        {formatCost(cost)}
      </span>
    ),
  },
  { name: "Latency", align: "end", cell: ({ latencyMs }) => formatLatency(latencyMs) },
];

export function LogTable({ label, logs }: { label: string; logs: readonly LogOfList[] }) {
  const rows = readFragment(LogOfListParts, logs);
  return <Table label={label} columns={columns} rows={rows} keyOf={({ id }) => id} rowsAre="links" />;
}
