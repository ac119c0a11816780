import { isObject } from "../formats/rows.ts";
import { type Convert, convertMessages, type Refusal } from "./chat.ts";
import type { Entry, ImportedVersion, Importer } from "./entries.ts";
import { createCollected, type FileRecord, filesAt, recordsOf } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { fromFString } from "./templates/fString.ts";
import { fromJinja } from "./templates/jinja.ts";
import { listIn, objectIn, textIn, textsIn } from "./values.ts";

type Values = Record<string, unknown>;

/** Reads answers of PromptLayer's API: prompt templates, one version each or a list of them. */
export const promptLayer: Importer = async function* (path, onRead) {
  const records: FileRecord[] = [];
  const collect = createCollected();
  for (const { path: file } of await filesAt(path))
    for await (const record of recordsOf(file, { onRead, lists: ["items"] })) {
      if ("kind" in record) yield record;
      else if ("prompt_template" in record.value && textIn(record.value, "prompt_name")) {
        collect(record);
        records.push(record);
      } else
        yield { kind: "refused", file, line: record.line, reason: "is no prompt template of PromptLayer" };
    }
  const byName = Map.groupBy(records, ({ value }) => textIn(value, "prompt_name")!);
  for (const [name, versions] of byName) yield* promptEntries(name, versions);
};

function* promptEntries(name: string, records: FileRecord[]): Generator<Entry> {
  const versions = new Map<string, ImportedVersion>();
  const tags: [string, string][] = [];
  const sorted = records.toSorted((a, b) => Number(a.value.version) - Number(b.value.version));
  for (const { file, line, value } of sorted) {
    const version = textIn(value, "version");
    if (version) for (const label of labelsOf(value)) tags.push([label, version]);
    if (version && versions.has(version)) continue;
    const content = version ? contentOf(value) : { reason: "has no version" };
    if (!version || "reason" in content) {
      const reason = "reason" in content ? content.reason : "";
      yield { kind: "refused", file, line, reason: `version ${version} of prompt "${name}": ${reason}` };
      continue;
    }
    yield* leftOutOf(value);
    versions.set(version, { file, line, version, ...content });
  }
  const [first] = sorted;
  if (first && versions.size > 0)
    yield {
      kind: "prompt",
      ...{ file: first.file, line: first.line, slug: slugOf(name), name },
      versions: [...versions.values()],
      tags,
    };
}

function* leftOutOf(value: Values): Generator<Entry> {
  if (textIn(value, "commit_message")) yield { kind: "leftOut", what: "commit messages" };
  if (textsIn(value, "tags").length > 0)
    yield { kind: "leftOut", what: "tags of prompts (not their release labels)" };
}

/** Labels as texts, or as objects with a name. */
const labelsOf = (value: Values): string[] => [
  ...textsIn(value, "release_labels"),
  ...listIn(value, "release_labels").flatMap((label) => textIn(label, "name") ?? []),
];

function contentOf(value: Values): Pick<ImportedVersion, "text" | "messages" | "model"> | Refusal {
  const template = objectIn(value, "prompt_template") ?? {};
  const model = modelOf(value, template);
  if (template.type === "completion") {
    const message = convertMessages([{ ...template, role: "user" }], converterOf);
    const [only] = "messages" in message ? message.messages : [];
    return isObject(only) ? { text: String(only.content), model } : (message as Refusal);
  }
  if (!Array.isArray(template.messages)) return { reason: "has no messages" };
  const messages: unknown[] = [];
  for (const message of template.messages) {
    if (isObject(message) && message.role === "placeholder") {
      messages.push({ placeholder: message.name });
      continue;
    }
    const converted = convertMessages([message], converterOf);
    if ("reason" in converted)
      return { reason: converted.reason.replace("message 1", `message ${messages.length + 1}`) };
    messages.push(...converted.messages);
  }
  return { messages, model };
}

function converterOf({ template_format: format }: Values): Convert {
  return format === "jinja2" ? fromJinja : fromFString;
}

function modelOf(value: Values, template: Values): unknown {
  const model = objectIn(objectIn(value, "metadata") ?? {}, "model");
  if (!model) return undefined;
  const { tools, tool_choice: toolChoice, functions } = template;
  const given = Object.entries({ tools, toolChoice, functions }).filter(([, each]) =>
    Array.isArray(each) ? each.length > 0 : each !== undefined && each !== null,
  );
  return {
    provider: textIn(model, "provider"),
    model: model.name,
    parameters: { ...objectIn(model, "parameters"), ...Object.fromEntries(given) },
  };
}
