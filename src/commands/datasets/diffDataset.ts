import type { Context } from "../../context.ts";
import {
  type Change,
  columnChanges,
  datasetDiff,
  type RowChange,
  rowChanges,
} from "../../datasets/diff.resolvers.ts";
import type { Column } from "../../datasets/entities.ts";
import { datasetDiffInput } from "../../datasets/inputs.ts";
import type { Row } from "../../datasets/resolvers.ts";
import { checkOptions } from "../options.ts";
import { readUpTo } from "../pages.ts";
import { printJson, printLines } from "../printing.ts";
import { formatLine } from "../prompts/diffPrompt.ts";
import { warn } from "../workspace.ts";
import { publicColumns } from "./publicColumns.ts";
import { selectorOf } from "./selectorOf.ts";

export interface DiffDatasetOptions {
  limit: number;
  json?: true;
}

const optionNames = { "from.tag": "from", "to.tag": "to" };

/** Prints what differs between two versions of a dataset, each named by its number or by a tag. */
export async function diffDataset(
  context: Context,
  names: { slug: string; from: string; to: string },
  { limit, json }: DiffDatasetOptions,
): Promise<void> {
  const chosen = { slug: names.slug, from: selectorOf(names.from), to: selectorOf(names.to) };
  const { slug, from, to } = checkOptions(datasetDiffInput, chosen, optionNames);
  const diff = await datasetDiff(context, { slug, from, to });
  const columns = columnChanges(diff).map(toColumnChange);
  const { entries, isMore } = await readUpTo<RowChange>(limit, ({ limit, after }) =>
    rowChanges(context, diff, { limit, after: after?.id }),
  );
  const rows = entries.map(({ id, before, after }) => ({
    id,
    ...kindAnd({ before: before && contentOf(before), after: after && contentOf(after) }),
  }));
  const versions = { from: diff.from.version, to: diff.to.version };
  if (json) await printJson({ slug, ...versions, columns, rows });
  else if (columns.length + rows.length === 0)
    warn(`Nothing differs between ${versions.from} and ${versions.to}.`);
  else await printLines([...columns, ...rows].flatMap(linesOf).map(formatLine));
  if (isMore) warn(`There are more than ${limit} rows. See them with --limit.`);
}

function toColumnChange({ before, after }: Change<Column>) {
  const columnOf = (column: Column | null) => column && publicColumns({ columns: [column] })[0]!;
  return kindAnd({ before: columnOf(before), after: columnOf(after) });
}

/** What a row holds, as REST and exports have it. */
const contentOf = ({ key, name, values, idealOutput, metadata }: Row) => ({
  key,
  name,
  values,
  idealOutput,
  metadata,
});

function kindAnd<Changed>({ before, after }: Change<Changed>) {
  const kind = before === null ? "added" : after === null ? "removed" : "changed";
  return { kind, before, after };
}

/** The lines of a change, like those of a unified diff. */
function linesOf({ id, before, after }: Change<object> & { id?: string }): string[] {
  return [
    id === undefined ? "@@ column @@" : `@@ row ${id} @@`,
    ...(before === null ? [] : [`-${JSON.stringify(before)}`]),
    ...(after === null ? [] : [`+${JSON.stringify(after)}`]),
  ];
}
