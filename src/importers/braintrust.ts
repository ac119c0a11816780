import { basename } from "node:path";
import { isObject } from "../formats/rows.ts";
import { braintrustPrompts } from "./braintrustPrompts.ts";
import { braintrustSpans } from "./braintrustSpans.ts";
import type { Entry, Importer } from "./entries.ts";
import { createCollected, type FileRecord, filesInOrder, recordsOf } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { textIn, toIdealOutput, toMetadata, toValues } from "./values.ts";

type Values = Record<string, unknown>;

/** Where the answers of Braintrust's API have their lists. */
const LISTS = ["objects", "events", "data"];

/** Datasets are named before their rows, and prompts come before the spans. */
const kinds = ["dataset", "prompt", "item", "span"] as const;

/** Reads what Braintrust exports: logs, experiments and datasets as JSON, and answers of its API. */
export const braintrust: Importer = async function* (path, onRead) {
  const reading = { onRead, lists: LISTS };
  const nameOfDataset = new Map<string, string>();
  const prompts: FileRecord[] = [];
  const collect = createCollected();
  const files = await filesInOrder(path, LISTS, (value) => kinds.indexOf(kindOf(value) ?? "span"));
  for (const { path: file, isLastOfRank } of files) {
    for await (const record of recordsOf(file, reading)) {
      if ("kind" in record) yield record;
      else if (kindOf(record.value) === "prompt") {
        collect(record);
        prompts.push(record);
      } else yield* entriesOf(record, nameOfDataset);
    }
    if (isLastOfRank) yield* braintrustPrompts(prompts.splice(0));
  }
};

function kindOf(value: Values): (typeof kinds)[number] | null {
  if ("prompt_data" in value) return "prompt";
  if ("span_attributes" in value || "log_id" in value || "experiment_id" in value) return "span";
  if ("dataset_id" in value || ("input" in value && "expected" in value)) return "item";
  return "name" in value && "project_id" in value ? "dataset" : null;
}

function* entriesOf(record: FileRecord, nameOfDataset: Map<string, string>): Generator<Entry> {
  const { file, line, value } = record;
  const kind = kindOf(value);
  if (kind === null)
    yield { kind: "refused", file, line, reason: "is no prompt, dataset, row or span of Braintrust" };
  else if (value._object_delete === true) yield { kind: "leftOut", what: "deleted objects" };
  else if (kind === "span") yield* braintrustSpans({ file, line }, value);
  else if (kind === "dataset") {
    const name = textIn(value, "name") ?? "";
    nameOfDataset.set(textIn(value, "id") ?? "", name);
    yield { kind: "dataset", file, line, slug: slugOf(name), name };
  } else yield itemEntry(record, nameOfDataset);
}

/** A row names its dataset by an id; without the dataset itself it has the name of the file. */
function itemEntry({ file, line, value }: FileRecord, nameOfDataset: Map<string, string>): Entry {
  const id = textIn(value, "id");
  if (!id) return { kind: "refused", file, line, reason: "has no id" };
  const name = nameOfDataset.get(textIn(value, "dataset_id") ?? "") ?? basename(file).split(".", 1)[0]!;
  const { created, tags, _xact_id: version, origin } = value;
  const own = isObject(value.metadata) && Object.keys(value.metadata).length === 0 ? null : value.metadata;
  return {
    kind: "item",
    ...{ file, line },
    dataset: { slug: slugOf(name), name },
    row: {
      key: id,
      values: toValues(value.input),
      idealOutput: toIdealOutput(value.expected),
      metadata: toMetadata(own, { created, version, tags, origin }),
    },
  };
}
