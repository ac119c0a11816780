import { InvalidArgumentError } from "commander";
import type { Context } from "../../context.ts";
import { rowCount } from "../../datasets/counts.resolvers.ts";
import { datasetChoice } from "../../datasets/inputs.ts";
import { allDatasetRows, readWarning } from "../../datasets/reading.resolvers.ts";
import type { Row } from "../../datasets/resolvers.ts";
import { dataset } from "../../datasets/versions.resolvers.ts";
import { datasetText } from "../../formats/datasetText.ts";
import { type Format, formatOf, formats } from "../../formats/formats.ts";
import { writeOut } from "../output.ts";
import { showProgress } from "../progress.ts";
import { warn } from "../workspace.ts";

export interface ExportDatasetOptions {
  format?: Format;
  output?: string;
  /** A version of the dataset. */
  at?: string;
  /** A tag that names a version. */
  tag?: string;
}

/** Writes a dataset to a file or to the standard output. */
export async function exportDataset(
  context: Context,
  slug: string,
  { format, output, at, tag }: ExportDatasetOptions,
): Promise<void> {
  const chosen = format ?? (output === undefined ? "jsonl" : formatOf(output));
  if (!chosen)
    throw new InvalidArgumentError(
      `The ending of ${output} names no format. Name it with --format: ${formats.join(", ")}.`,
    );
  const version = datasetChoice.shape.version.safeParse(at);
  if (!version.success) throw new InvalidArgumentError(`--at ${version.error.issues[0]!.message}.`);
  const head = await dataset(context, { slug, version: version.data, tag, withVersion: true });
  const progress = showProgress(await rowCount(context, head));
  const omitted = new Set<string>();
  async function* rows(): AsyncGenerator<Row[]> {
    let count = 0;
    for await (const piece of allDatasetRows(context, head)) {
      for (const name of piece.omitted) omitted.add(name);
      yield piece.rows;
      count += piece.rows.length;
      progress.report(count, count);
    }
  }
  async function* text(): AsyncGenerator<string> {
    for await (const piece of datasetText(chosen!, head, rows())) {
      yield piece;
    }
  }
  try {
    await writeOut(output, text());
  } finally {
    progress.stop();
  }
  const warning = readWarning(omitted);
  if (warning !== null) warn(warning);
}
