import { stat } from "node:fs/promises";
import { InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import type { DatasetRowInput } from "../datasets/inputs.ts";
import type { ErrorDetail } from "../errors.ts";
import { quoted } from "../errors.ts";
import { type Format, formatOf, formats, openRows } from "../formats/formats.ts";
import { type FileRow, inPortions, type RowFile, rowFields } from "../formats/rows.ts";
import { FileError } from "../formats/text.ts";
import { judge } from "./judge.ts";
import { printJson } from "./printing.ts";
import { showProgress } from "./progress.ts";
import { collectRejected, type Rejected } from "./rejected.ts";
import { openTarget, type Target } from "./target.ts";
import { say, warn } from "./workspace.ts";

export interface ImportDatasetOptions {
  slug: string;
  name?: string;
  key?: string;
  format?: Format;
  dryRun?: true;
  json?: true;
}

/** Puts the rows of a file into a dataset, which it makes when there is none; the exit code tells whether rows were refused. */
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
    await store(file, { target, rejected, key: options.key, tell: (rows) => progress.tell(read, rows) });
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
  const found = await stat(path).catch(() => null);
  if (!found) throw new Error(`There is no file ${path}.`);
  if (!found.isFile()) throw new Error(`${path} is not a file.`);
  return found.size;
}

function refuseUnknownKey(path: string, { columns }: RowFile, key: string): void {
  const names = columns?.map(({ name }) => name);
  const fields: readonly string[] = rowFields;
  if (!names || names.includes(key) || fields.includes(key)) return;
  throw new Error(`${path} has no column ${quoted(key)} for --key; it has ${names.map(quoted).join(", ")}.`);
}

async function store(
  file: RowFile,
  means: {
    target: Target;
    rejected: Rejected;
    key: string | undefined;
    tell: (rows: number) => void;
  },
): Promise<void> {
  let rows = 0;
  for await (const portion of inPortions(file.rows)) {
    const good: { row: FileRow; input: DatasetRowInput }[] = [];
    const bad: { row: FileRow; details: ErrorDetail[] }[] = [];
    for (const row of portion) {
      const judged = judge(row, means.key);
      if ("details" in judged) bad.push({ row, details: judged.details });
      else good.push({ row, input: judged.input });
    }
    await means.target.put(good.map(({ input }) => input));
    means.target.note(good.flatMap(({ row }) => row.beside));
    await means.rejected.add(bad);
    rows += portion.length;
    means.tell(rows);
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
    warn(`Left out, because the dataset has no such columns: ${listed(target.omitted)}.`);
  if (target.keptName !== null) warn(`The dataset exists and keeps its name ${quoted(target.keptName)}.`);
  const count = rejected.count();
  if (rejected.path() !== null)
    warn(`The rejected rows are in ${rejected.path()}; mend them there and import that file.`);
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
  const done = dryRun
    ? `Dry run, nothing was stored. ${dataset}: ${shown(added)} rows would be added, ${shown(changed)} changed or found unchanged`
    : `${dataset}: ${shown(added)} rows added, ${shown(changed)} changed, ${shown(unchanged)} unchanged`;
  say(`${done}, ${shown(count)} rejected, in ${seconds.toFixed(1)} s.`);
}

/** What to say of the rows that were stored before a file broke off. */
function leftBehind({ counts }: Target, { key, dryRun }: ImportDatasetOptions): string {
  const stored = counts.added + counts.changed + counts.unchanged;
  if (stored === 0 || dryRun) return "Nothing was stored.";
  const again = key === undefined ? " with --key COLUMN, so that they are not added twice" : "";
  return `${shown(stored)} rows before it are stored. Mend the file and import it again${again}.`;
}

const MOST_NAMES = 50;

function listed(names: Set<string>): string {
  const some = [...names].slice(0, MOST_NAMES).map(quoted).join(", ");
  return names.size > MOST_NAMES ? `${some} and ${names.size - MOST_NAMES} more` : some;
}

function shown(count: number): string {
  return count.toLocaleString("en");
}
