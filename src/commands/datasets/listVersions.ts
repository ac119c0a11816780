import type { Context } from "../../context.ts";
import { type DatasetVersion, newestVersions } from "../../datasets/history.resolvers.ts";
import { getState } from "../../datasets/versions.resolvers.ts";
import { formatCount, printJson, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { warn } from "../workspace.ts";

/** Prints the newest versions of a dataset. */
export async function listVersions(
  context: Context,
  slug: string,
  { limit, json }: { limit: number; json?: true },
): Promise<void> {
  const state = await getState(context, slug);
  const versions = await newestVersions(context, state, limit);
  if (json) await printJson(versions);
  else await printLines(toTable(columns, versions));
  if (state.version > limit) warn(`There are more than ${limit}. See them with --limit.`);
}

const changes = (count: number) => (count === 0 ? null : formatCount(count));

const columns: Column<DatasetVersion>[] = [
  { title: "VERSION", cell: ({ version }) => `${version}`, align: "right" },
  { title: "TAGS", cell: ({ tags }) => tags.join(", ") || null },
  { title: "ROWS", cell: ({ rowCount }) => formatCount(rowCount), align: "right" },
  { title: "ADDED", cell: ({ addedRows }) => changes(addedRows), align: "right" },
  { title: "CHANGED", cell: ({ changedRows }) => changes(changedRows), align: "right" },
  { title: "REMOVED", cell: ({ removedRows }) => changes(removedRows), align: "right" },
  { title: "COLUMNS", cell: ({ columnsChanged }) => (columnsChanged ? "changed" : null) },
];
