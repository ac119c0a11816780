import { stat } from "node:fs/promises";
import { InvalidArgumentError } from "commander";
import type { Context } from "../../context.ts";
import type { DatasetRowInput } from "../../datasets/inputs.ts";
import type { ErrorDetail } from "../../errors.ts";
import { quoted } from "../../errors.ts";
import { type Format, formatOf, formats, openRows } from "../../formats/formats.ts";
import { type FileRow, inPortions, type RowFile, rowFields } from "../../formats/rows.ts";
import { FileError } from "../../formats/text.ts";
import { printJson } from "../printing.ts";
import { showProgress } from "../progress.ts";
import { say, warn } from "../workspace.ts";
import { collectRejected, type Rejected } from "./rejected.ts";
import { openTarget, type Target } from "./target.ts";
import { validateRow } from "./validateRow.ts";

export interface ImportDatasetOptions {
  slug: string;
  name?: string;
  key?: string;
  format?: Format;
  dryRun?: true;
  json?: true;
}

/** Stores the rows of a file in a dataset, which it creates when missing. Sets the exit code when rows are rejected. */
export async function importDataset(
  context: Context,
  path: string,
  options: ImportDatasetOptions,
): Promise<void> {
  const format = options.format ?? formatOf(path);
  if (!format)
    throw new InvalidArgumentError(
      `The ending of ${path} names no format. Name it with --format: ${formats.join(", ")}.`,
    );
  const size = await sizeOf(path);
  const target = await openTarget(context, options);
  let read = 0;
  const onRead = (bytes: number) => {
    read += bytes;
  };
  const file = await openRows(format, { path, onRead }, target.typeOf);
  if (options.key !== undefined) refuseUnknownKey(path, file, options.key);
  const began = performance.now();
  const rejected = collectRejected(options.dryRun ? null : `${path}.rejected`, file);
  const progress = showProgress(size);
  try {
    await target.expect(file);
    await store(file, {
      target,
      rejected,
      key: options.key,
      onStored: (rows) => progress.report(read, rows),
    });
    await target.finish();
  } catch (error) {
    throw error instanceof FileError ? new Error(`${error.message} ${leftBehind(target, options)}`) : error;
  } finally {
    progress.stop();
    await rejected.close(warn);
  }
  await report({ options, target, rejected, seconds: (performance.now() - began) / 1000 });
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path).catch(() => null);
  if (!stats) throw new Error(`There is no file ${path}.`);
  if (!stats.isFile()) throw new Error(`${path} is not a file.`);
  return stats.size;
}

function refuseUnknownKey(path: string, { columns }: RowFile, key: string): void {
  const names = columns?.map(({ name }) => name);
  const fields: readonly string[] = rowFields;
  if (!names || names.includes(key) || fields.includes(key)) return;
  throw new Error(`${path} has no column ${quoted(key)} for --key; it has ${names.map(quoted).join(", ")}.`);
}

async function store(
  file: RowFile,
  options: {
    target: Target;
    rejected: Rejected;
    key: string | undefined;
    onStored: (rows: number) => void;
  },
): Promise<void> {
  let rows = 0;
  for await (const portion of inPortions(file.rows)) {
    const valid: { row: FileRow; input: DatasetRowInput }[] = [];
    const invalid: { row: FileRow; details: ErrorDetail[] }[] = [];
    for (const row of portion) {
      const result = validateRow(row, options.key);
      if ("details" in result) invalid.push({ row, details: result.details });
      else valid.push({ row, input: result.input });
    }
    await options.target.put(valid.map(({ input }) => input));
    options.target.addOmitted(valid.flatMap(({ row }) => row.extraNames));
    await options.rejected.add(invalid);
    rows += portion.length;
    options.onStored(rows);
  }
}

interface Outcome {
  options: ImportDatasetOptions;
  target: Target;
  rejected: Rejected;
  seconds: number;
}

async function report({ options, target, rejected, seconds }: Outcome): Promise<void> {
  const { slug, dryRun = false, json } = options;
  if (target.omitted.size > 0)
    warn(`Left out, because the dataset has no such columns: ${joinNames(target.omitted)}.`);
  if (target.keptName !== null) warn(`The dataset exists and keeps its name ${quoted(target.keptName)}.`);
  const count = rejected.count();
  if (rejected.path() !== null)
    warn(`The rejected rows are in ${rejected.path()}; correct them there and import that file.`);
  if (count > 0) process.exitCode = 1;
  const { added, changed, unchanged } = target.counts;
  const { isNew } = target;
  if (json)
    return printJson({
      slug,
      isNew,
      dryRun,
      added,
      changed,
      unchanged,
      rejected: count,
      rejectedFile: rejected.path(),
    });
  const dataset = `Dataset ${quoted(slug)}${isNew ? " (new)" : ""}`;
  const sentence = dryRun
    ? `Dry run, nothing was stored. ${dataset}: ${formatCount(added)} rows would be added, ${formatCount(changed)} changed, ${formatCount(unchanged)} unchanged`
    : `${dataset}: ${formatCount(added)} rows added, ${formatCount(changed)} changed, ${formatCount(unchanged)} unchanged`;
  say(`${sentence}, ${formatCount(count)} rejected, in ${seconds.toFixed(1)} s.`);
}

/** Says how many rows were stored before an error of the file. */
function leftBehind({ counts }: Target, { key, dryRun }: ImportDatasetOptions): string {
  const count = counts.added + counts.changed + counts.unchanged;
  if (count === 0 || dryRun) return "Nothing was stored.";
  const again = key === undefined ? " with --key COLUMN, so that they are not added twice" : "";
  return `${formatCount(count)} rows before it are stored. Mend the file and import it again${again}.`;
}

const MAX_NAMES = 50;

function joinNames(names: Set<string>): string {
  const some = [...names].slice(0, MAX_NAMES).map(quoted).join(", ");
  return names.size > MAX_NAMES ? `${some} and ${names.size - MAX_NAMES} more` : some;
}

function formatCount(count: number): string {
  return count.toLocaleString("en");
}
