import { InvalidArgumentError } from "commander";
import type { Context } from "../../context.ts";
import { rowCount } from "../../datasets/counts.resolvers.ts";
import { datasetChoice } from "../../datasets/inputs.ts";
import { datasetTags, protectedDatasetTags } from "../../datasets/tags.resolvers.ts";
import { dataset } from "../../datasets/versions.resolvers.ts";
import { printableText } from "../../printable.ts";
import { formatCount, formatTime, printJson, printLines } from "../printing.ts";
import { publicColumns } from "./publicColumns.ts";

export interface ShowDatasetOptions {
  /** A version of the dataset. */
  at?: string;
  tag?: string;
  json?: true;
}

/** Prints a dataset without its rows. */
export async function showDataset(
  context: Context,
  slug: string,
  { at, tag, json }: ShowDatasetOptions,
): Promise<void> {
  const version = datasetChoice.shape.version.safeParse(at);
  if (!version.success) throw new InvalidArgumentError(`--at ${version.error.issues[0]!.message}.`);
  const details = await readDetails(context, { slug, version: version.data, tag });
  if (json) await printJson(details);
  else await printLines([printableText(linesOf(details).join("\n"))]);
}

type Details = Awaited<ReturnType<typeof readDetails>>;

async function readDetails(
  context: Context,
  choice: { slug: string; version: number | null; tag: string | undefined },
) {
  const head = await dataset(context, { ...choice, withVersion: true });
  const { id, slug, name, createdAt, version } = head;
  return {
    ...{ slug, name, createdAt, version, columns: publicColumns(head) },
    rowCount: await rowCount(context, head),
    tags: (await datasetTags(context, id)).map(({ label, version }) => ({ label, version })),
    protectedTags: await protectedDatasetTags(context, id),
  };
}

function linesOf({ slug, name, createdAt, version, columns, ...facts }: Details): string[] {
  const lines: [name: string, value: string | null][] = [
    ["Version", `${version}`],
    ["Made", formatTime(createdAt)],
    ["Rows", formatCount(facts.rowCount)],
    ["Tags", facts.tags.map((tag) => `${tag.label} ${tag.version}`).join(", ")],
    ["Protected", facts.protectedTags.join(", ")],
    ...columns.map((column, n): [string, string] => [
      n === 0 ? "Columns" : "",
      `${column.name} (${column.type})`,
    ]),
  ];
  return [
    slug,
    ...(name === slug ? [] : [name]),
    "",
    ...lines.flatMap(([name, value]) => (value ? [`${name.padEnd(11)}${value}`] : [])),
  ];
}
