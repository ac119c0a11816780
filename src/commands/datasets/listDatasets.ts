import type { Context } from "../../context.ts";
import { rowCount } from "../../datasets/counts.resolvers.ts";
import { datasetsInput } from "../../datasets/inputs.ts";
import { datasets } from "../../datasets/listing.resolvers.ts";
import type { DatasetHead } from "../../datasets/resolvers.ts";
import { checkOptions } from "../options.ts";
import { readUpTo } from "../pages.ts";
import { formatCount, printJson, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { warn } from "../workspace.ts";
import { publicColumns } from "./publicColumns.ts";

export interface ListDatasetsOptions {
  search?: string;
  limit: number;
  json?: true;
}

/** Prints the datasets of a workspace. */
export async function listDatasets(
  context: Context,
  { search, limit, json }: ListDatasetsOptions,
): Promise<void> {
  const input = checkOptions(datasetsInput.pick({ search: true }), { search }, { search: "--search" });
  const { entries, isMore } = await readUpTo<DatasetHead>(limit, ({ limit, after }) =>
    datasets(context, { ...input, limit, after: after?.slug }),
  );
  const listed = await Promise.all(entries.map((head) => toListed(context, head)));
  if (json) await printJson(listed);
  else if (listed.length === 0) warn("There is no such dataset.");
  else await printLines(toTable(tableColumns, listed));
  if (isMore) warn(`There are more than ${limit}. See them with --limit.`);
}

type Listed = Awaited<ReturnType<typeof toListed>>;

async function toListed(context: Context, head: DatasetHead) {
  const { slug, name, createdAt, version } = head;
  return {
    slug,
    name,
    createdAt,
    version,
    columns: publicColumns(head),
    rowCount: await rowCount(context, head),
  };
}

const tableColumns: Column<Listed>[] = [
  { title: "SLUG", cell: ({ slug }) => slug, isWhole: true },
  { title: "NAME", cell: ({ name }) => name },
  { title: "VERSION", cell: ({ version }) => `${version}`, align: "right" },
  { title: "ROWS", cell: ({ rowCount }) => formatCount(rowCount), align: "right" },
  { title: "COLUMNS", cell: ({ columns }) => columns.map(({ name }) => name).join(", ") || null },
];
