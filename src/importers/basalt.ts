import { createHash } from "node:crypto";
import { isObject } from "../formats/rows.ts";
import type { Entry, ImportedVersion, Importer } from "./entries.ts";
import { createCollected, type FileRecord, filesAt, recordsOf } from "./records.ts";
import { listIn, objectIn, textIn, textsIn, toIdealOutput } from "./values.ts";

type Values = Record<string, unknown>;

/** Reads answers of Basalt's API: prompts as served and as described, datasets with their rows, and lists of both. */
export const basalt: Importer = async function* (path, onRead) {
  const served: FileRecord[] = [];
  const collect = createCollected();
  const described = new Map<string, Values>();
  const named = new Map<string, FileRecord>();
  for (const { path: file } of await filesAt(path))
    for await (const record of recordsOf(file, { onRead, lists: ["prompts", "datasets"] })) {
      if ("kind" in record) {
        yield record;
        continue;
      }
      const value = objectIn(record.value, "prompt") ?? objectIn(record.value, "dataset") ?? record.value;
      const slug = textIn(value, "slug") ?? "";
      const isServed = typeof value.text === "string" || Array.isArray(value.messages);
      if (slug !== "" && "availableVersions" in value) named.set(slug, { ...record, value });
      if (slug !== "" && (isServed || "availableVersions" in value)) collect(record);
      if (slug !== "" && isServed) served.push({ ...record, value });
      else if (slug !== "" && "availableVersions" in value)
        described.set(slug, { ...described.get(slug), ...value });
      else if (slug !== "" && "columns" in value) yield* datasetEntries({ ...record, value });
      else if (slug === "" || !("name" in value))
        yield { kind: "refused", file, line: record.line, reason: "is no prompt or dataset of Basalt" };
    }
  const bySlug = Map.groupBy(served, ({ value }) => textIn(value, "slug")!);
  for (const [slug, answers] of bySlug) yield promptEntry(slug, answers, described.get(slug) ?? {});
  for (const [slug, record] of named) if (!bySlug.has(slug)) yield notServed(record);
};

/** A prompt that is only listed or described. */
function notServed({ file, line, value }: FileRecord): Entry {
  const { slug, availableVersions } = value;
  if (Array.isArray(availableVersions) && availableVersions.length === 0)
    return { kind: "leftOut", what: "prompts without versions" };
  const reason = `prompt "${slug}" has no text here; save each version as it is served`;
  return { kind: "refused", file, line, reason };
}

/** A prompt of answers, each of which serves a version, perhaps by a tag. */
function promptEntry(slug: string, answers: FileRecord[], description: Values): Entry {
  const versions = new Map<string, ImportedVersion>();
  const tags = new Map<string, string>();
  for (const { file, line, value } of answers) {
    const version = textIn(value, "version") ?? "";
    const tag = textIn(value, "tag");
    if (tag) tags.set(tag, version);
    versions.set(version, { file, line, version, ...contentOf(value, description) });
  }
  const order = textsIn(description, "availableVersions");
  const place = (version: string) => (order.includes(version) ? order.indexOf(version) : order.length);
  const [first] = answers as [FileRecord];
  const text = textIn(description, "description");
  return {
    kind: "prompt",
    ...{ file: first.file, line: first.line, slug },
    name: textIn(description, "name") ?? slug,
    ...(text && { description: text }),
    versions: [...versions.values()].toSorted(
      (a, b) => place(a.version) - place(b.version) || byNumbers.compare(a.version, b.version),
    ),
    tags: [...tags],
  };
}

/** Of versions that no description orders, 1.10.0 comes after 1.9.0. */
const byNumbers = new Intl.Collator("en", { numeric: true });

function contentOf(value: Values, description: Values) {
  const systemText = textIn(value, "systemText");
  const model = objectIn(value, "model");
  const variables = description.version === value.version ? listIn(description, "variables") : [];
  return {
    ...(typeof value.text === "string" && { text: value.text }),
    ...(Array.isArray(value.messages) && { messages: value.messages }),
    ...(systemText && { systemText }),
    ...(model && textIn(model, "model") && { model: withoutEmpty(model) }),
    ...(variables.length > 0 && { variables: variables as NonNullable<ImportedVersion["variables"]> }),
  };
}

/** Basalt writes empty texts, and parameters that are null, for what is not set. */
function withoutEmpty(model: Values): Values {
  const isSet = ([, value]: [string, unknown]) => value !== null && value !== "";
  const { parameters, ...members } = model;
  const set = isObject(parameters) ? Object.entries(parameters).filter(isSet) : [];
  return {
    ...Object.fromEntries(Object.entries(members).filter(isSet)),
    parameters: Object.fromEntries(set),
  };
}

/** Rows have no ids but in the answers of Gabbro; without one, the key follows from the content, and equal rows are counted. */
function* datasetEntries({ file, line, value }: FileRecord): Generator<Entry> {
  const slug = textIn(value, "slug")!;
  const name = textIn(value, "name") ?? slug;
  const columns = listIn(value, "columns") as { name: string; type: "text" }[];
  yield { kind: "dataset", file, line, slug, name, columns };
  const seen = new Map<string, number>();
  for (const row of listIn(value, "rows")) {
    const { values, idealOutput, metadata } = row;
    const hash = hashOf({ name: row.name, values, idealOutput, metadata });
    const times = (seen.get(hash) ?? 0) + 1;
    seen.set(hash, times);
    yield {
      kind: "item",
      ...{ file, line },
      dataset: { slug, name },
      row: {
        key: textIn(row, "id") ?? (times === 1 ? hash : `${hash} ${times}`),
        name: textIn(row, "name") ?? null,
        values: isObject(values) ? values : {},
        idealOutput: toIdealOutput(idealOutput),
        metadata: isObject(metadata) ? metadata : null,
      },
    };
  }
}

const HASH_DIGITS = 32;

const hashOf = (row: object): string =>
  createHash("sha256").update(JSON.stringify(row)).digest("hex").slice(0, HASH_DIGITS);
