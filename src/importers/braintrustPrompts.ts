import { isObject } from "../formats/rows.ts";
import { type Convert, convertMessages, convertText, fromPlainText, type Refusal } from "./chat.ts";
import type { Entry, ImportedVersion } from "./entries.ts";
import type { FileRecord } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { fromJinja } from "./templates/jinja.ts";
import { fromMustache } from "./templates/mustache.ts";
import { objectIn, parsed, textIn, toModel } from "./values.ts";

type Values = Record<string, unknown>;

/** The prompts of an export. A version is named by its transaction, as Braintrust itself names it. */
export function* braintrustPrompts(records: FileRecord[]): Generator<Entry> {
  const bySlug = Map.groupBy(records, ({ value }) => slugOf(textIn(value, "slug", "name") ?? ""));
  for (const [slug, versions] of bySlug) {
    const converted = new Map<string, ImportedVersion>();
    const sorted = versions.toSorted((a, b) => (versionOf(a.value) < versionOf(b.value) ? -1 : 1));
    for (const { file, line, value } of sorted) {
      const version = versionOf(value);
      if (converted.has(version)) continue;
      const content = version === "" ? { reason: "has no _xact_id" } : contentOf(value);
      if ("reason" in content)
        yield { kind: "refused", file, line, reason: `prompt "${slug}": ${content.reason}` };
      else converted.set(version, { file, line, version, ...content });
      if (Array.isArray(value.tags) && value.tags.length > 0)
        yield { kind: "leftOut", what: "tags of prompts" };
    }
    const newest = sorted.at(-1)!;
    const name = textIn(newest.value, "name") ?? slug;
    const description = textIn(newest.value, "description");
    if (converted.size > 0)
      yield {
        kind: "prompt",
        ...{ file: newest.file, line: newest.line, slug, name, ...(description && { description }) },
        versions: [...converted.values()],
        tags: [],
      };
  }
}

const versionOf = (value: Values): string => textIn(value, "_xact_id") ?? "";

function contentOf(value: Values): Pick<ImportedVersion, "text" | "messages" | "model"> | Refusal {
  const data = objectIn(value, "prompt_data") ?? {};
  const prompt = objectIn(data, "prompt");
  if (!prompt) return { reason: "has no text" };
  const convert = converterOf(data.template_format);
  const model = modelOf(data, prompt);
  if (typeof prompt.content === "string") {
    const text = convertText(prompt.content, convert);
    return "reason" in text ? text : { ...text, model };
  }
  if (!Array.isArray(prompt.messages)) return { reason: "has neither a text nor messages" };
  const messages = convertMessages(prompt.messages, () => convert);
  return "reason" in messages ? messages : { ...messages, model };
}

function converterOf(format: unknown): Convert {
  if (format === "none") return fromPlainText;
  if (format !== "nunjucks") return fromMustache;
  return (template) => fromJinja(`${template}\n`); // nunjucks keeps the last line feed, Jinja takes one away
}

function modelOf(data: Values, prompt: Values): unknown {
  const options = objectIn(data, "options") ?? {};
  const { tools } = prompt;
  const hasTools = typeof tools === "string" && tools !== "" && tools !== "[]";
  const parameters = { ...objectIn(options, "params"), ...(hasTools && { tools: toTools(tools) }) };
  return toModel({ ...parameters, model: options.model });
}

function toTools(text: string): unknown {
  const tools = parsed(text);
  return isObject(tools) || Array.isArray(tools) ? tools : text;
}
