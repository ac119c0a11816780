import { createHash } from "node:crypto";
import { basename } from "node:path";
import { isObject } from "../formats/rows.ts";
import type { Entry, Importer } from "./entries.ts";
import { langsmithPrompts } from "./langsmithPrompts.ts";
import { langsmithSpans } from "./langsmithSpans.ts";
import { createCollected, type FileRecord, filesInOrder, recordsOf } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { textIn, toIdealOutputOf, toMetadata, toValues } from "./values.ts";

type Values = Record<string, unknown>;

/** Where the answers of LangSmith's API have their lists. */
const LISTS = ["runs", "commits"];

/** Datasets are named before their examples, and prompts come before the runs. */
const kinds = ["dataset", "prompt", "example", "run"] as const;

/** Reads what LangSmith exports: runs, examples and commits of prompts as JSON or JSON Lines. */
export const langsmith: Importer = async function* (path, onRead) {
  const nameOfDataset = new Map<string, string>();
  const prompts: FileRecord[] = [];
  const collect = createCollected();
  const files = await filesInOrder(path, LISTS, (value) => kinds.indexOf(kindOf(value) ?? "run"));
  for (const { path: file, isLastOfRank } of files) {
    for await (const record of recordsOf(file, { onRead, lists: LISTS })) {
      if ("kind" in record) yield record;
      else if (kindOf(record.value) === "prompt") {
        collect(record);
        prompts.push(record);
      } else yield* entriesOf(record, nameOfDataset);
    }
    if (isLastOfRank) yield* langsmithPrompts(prompts.splice(0));
  }
};

function kindOf(value: Values): (typeof kinds)[number] | null {
  if ("manifest" in value || "lc" in value || "tag_name" in value) return "prompt";
  if ("run_type" in value) return "run";
  if ("inputs" in value) return "example";
  return "name" in value && "data_type" in value ? "dataset" : null;
}

function* entriesOf(record: FileRecord, nameOfDataset: Map<string, string>): Generator<Entry> {
  const { file, line, value } = record;
  const kind = kindOf(value);
  if (kind === "run") yield* langsmithSpans({ file, line }, value);
  else if (kind === "example") yield exampleEntry(record, nameOfDataset);
  else if (kind === "dataset") {
    const name = textIn(value, "name") ?? "";
    nameOfDataset.set(textIn(value, "id") ?? "", name);
    yield { kind: "dataset", file, line, slug: slugOf(name), name };
  } else yield { kind: "refused", file, line, reason: "is no prompt, dataset, example or run of LangSmith" };
}

/** An example names its dataset by an id; without the dataset itself it has the name of the file. */
function exampleEntry({ file, line, value }: FileRecord, nameOfDataset: Map<string, string>): Entry {
  const name = nameOfDataset.get(textIn(value, "dataset_id") ?? "") ?? basename(file).split(".", 1)[0]!;
  const { inputs, outputs, metadata, created_at: createdAt, source_run_id: sourceRunId } = value;
  const { idealOutput, outputKey } = toIdealOutputOf(outputs);
  const own = isObject(metadata) && Object.keys(metadata).length === 0 ? null : metadata;
  return {
    kind: "item",
    ...{ file, line },
    dataset: { slug: slugOf(name), name },
    row: {
      key: textIn(value, "id") ?? contentKey({ inputs, outputs }),
      values: toValues(inputs),
      idealOutput,
      metadata: toMetadata(own, { createdAt, sourceRunId, outputKey }),
    },
  };
}

const KEY_DIGITS = 32;

/** The key of an example that was exported without its id: the same for the same content. */
const contentKey = (content: object): string =>
  createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, KEY_DIGITS);
