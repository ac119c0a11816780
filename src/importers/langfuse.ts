import type { Entry, Importer, Place } from "./entries.ts";
import { type CollectedPrompt, langfusePrompts } from "./langfusePrompts.ts";
import { scoreSpan, toLangfuseSpan, traceSpan } from "./langfuseSpans.ts";
import { createCollected, type FileRecord, filesInOrder, recordsOf } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { camelCased, listIn, textIn, toIdealOutput, toMetadata, toValues } from "./values.ts";

type Kind = "prompt" | "list of prompts" | "dataset" | "item" | "score" | "observation" | "trace";
type Values = Record<string, unknown>;

const LISTS = ["data"];

/** Prompts come first, as spans name the versions that served them. */
const order: Kind[] = ["prompt", "list of prompts", "dataset", "item", "trace", "observation", "score"];

/**
 * Reads what Langfuse exports: answers of its public API, and the files of its exports to a browser or a blob storage. Each
 * object says by its members what it is.
 */
export const langfuse: Importer = async function* (path, onRead) {
  const reading = { onRead, lists: LISTS };
  const files = await filesInOrder(path, LISTS, (value) => rankOf(kindOf(camelCased(value))));
  const prompts: CollectedPrompt[] = [];
  const collect = createCollected();
  for (const { path: file, isLastOfRank } of files) {
    for await (const record of recordsOf(file, reading)) {
      if ("kind" in record) {
        yield record;
        continue;
      }
      const value = camelCased(record.value);
      if (kindOf(value) !== "prompt") {
        yield* entriesOf(record, value);
        continue;
      }
      prompts.push({ place: record, value });
      collect({ ...record, value });
    }
    if (isLastOfRank) yield* langfusePrompts(prompts.splice(0));
  }
};

const rankOf = (kind: Kind | null): number => (kind === null ? order.length : order.indexOf(kind));

function kindOf(value: Values): Kind | null {
  const has = (...names: string[]) => names.every((name) => name in value);
  if (has("prompt", "name", "version")) return "prompt";
  if (has("name", "versions")) return "list of prompts";
  if (has("traceId", "type", "startTime")) return "observation";
  if (has("name", "dataType") || has("name", "value", "source")) return "score";
  if (has("id", "expectedOutput") || has("id", "input", "datasetId") || has("id", "input", "datasetName"))
    return "item";
  if (has("id", "timestamp")) return "trace";
  return has("name", "projectId", "createdAt") ? "dataset" : null;
}

function* entriesOf({ file, line }: FileRecord, value: Values): Generator<Entry> {
  const place = { file, line };
  const kind = kindOf(value);
  if (kind === "observation") yield toLangfuseSpan(place, value);
  else if (kind === "score") yield scoreSpan(place, value);
  else if (kind === "trace") yield* traceEntries(place, value);
  else if (kind === "item") yield* itemEntries(place, value);
  else if (kind === "dataset") yield* datasetEntries(place, value);
  else yield { kind: "refused", ...place, reason: kind ? ONLY_NAMES : UNKNOWN };
}

const ONLY_NAMES = "lists the versions of a prompt without their texts; save each version by itself";
const UNKNOWN = "is no prompt, dataset, item, trace, observation or score of Langfuse";

function* traceEntries(place: Place, value: Values): Generator<Entry> {
  yield traceSpan(place, value);
  for (const each of listIn(value, "observations")) yield toLangfuseSpan(place, camelCased(each));
  for (const each of listIn(value, "scores")) yield scoreSpan(place, camelCased(each));
}

function* datasetEntries(place: Place, value: Values): Generator<Entry> {
  const name = textIn(value, "name") ?? "";
  yield { kind: "dataset", ...place, slug: slugOf(name), name };
  if (textIn(value, "description")) yield { kind: "leftOut", what: "descriptions of datasets" };
}

function* itemEntries(place: Place, value: Values): Generator<Entry> {
  const name = textIn(value, "datasetName", "datasetId");
  const id = textIn(value, "id");
  if (!name || !id) {
    const reason = "names no dataset: export the items with `datasetName`, as the API gives them";
    yield { kind: "refused", ...place, reason };
    return;
  }
  if (value.status === "ARCHIVED") {
    yield { kind: "refused", ...place, reason: "is archived in Langfuse" };
    return;
  }
  const { sourceTraceId, sourceObservationId, createdAt } = value;
  const media = listIn(value, "mediaReferences");
  if (media.length > 0) yield { kind: "leftOut", what: "contents of media" };
  yield {
    kind: "item",
    ...place,
    dataset: { slug: slugOf(name), name },
    row: {
      key: id,
      values: toValues(value.input),
      idealOutput: toIdealOutput(value.expectedOutput),
      metadata: toMetadata(value.metadata, { sourceTraceId, sourceObservationId, createdAt }),
    },
  };
}
