import type { ForeignRow } from "../database/sqlite/foreignFile.ts";
import { isObject } from "../formats/rows.ts";
import { type Convert, convertMessages, convertText, fromPlainText } from "./chat.ts";
import type { Entry, ImportedVersion } from "./entries.ts";
import { slugOf } from "./slugs.ts";
import { fromFString } from "./templates/fString.ts";
import { fromMustache } from "./templates/mustache.ts";
import { parsed, textIn } from "./values.ts";

type Rows = (query: string) => Iterable<ForeignRow>;

/** The prompts of a file. A version is named by its id, which stays the same when others are deleted. */
export function* phoenixPrompts(path: string, rows: Rows): Generator<Entry> {
  const versions = Map.groupBy(
    [...rows("select * from prompt_versions order by id")],
    (row) => row.prompt_id,
  );
  const tags = Map.groupBy(
    [...rows("select * from prompt_version_tags order by id")],
    (row) => row.prompt_id,
  );
  for (const prompt of [...rows("select * from prompts order by id")]) {
    const name = textIn(prompt, "name") ?? "";
    const converted: ImportedVersion[] = [];
    for (const row of versions.get(prompt.id) ?? []) {
      const place = { file: `${path}, table prompt_versions`, line: Number(row.id) };
      const result = contentOf(row);
      if ("reason" in result)
        yield { kind: "refused", ...place, reason: `prompt "${name}": ${result.reason}` };
      else converted.push({ ...place, version: String(row.id), ...result });
      if (textIn(row, "description")) yield { kind: "leftOut", what: "descriptions of versions" };
    }
    if (converted.length === 0) continue;
    const description = textIn(prompt, "description");
    yield {
      kind: "prompt",
      ...{ file: `${path}, table prompts`, line: Number(prompt.id) },
      ...{ slug: slugOf(name), name, ...(description && { description }), versions: converted },
      tags: (tags.get(prompt.id) ?? []).map((tag) => [String(tag.name), String(tag.prompt_version_id)]),
    };
  }
}

type Content = Pick<ImportedVersion, "text" | "messages" | "model">;

function contentOf(row: ForeignRow): Content | { reason: string } {
  const template = parsed(row.template);
  if (!isObject(template)) return { reason: "has a template that is not valid JSON" };
  const model = modelOf(row);
  const convert = converterOf(row.template_format);
  if (typeof template.template === "string") {
    const text = convertText(template.template, convert);
    return "reason" in text ? text : { ...text, model };
  }
  if (!Array.isArray(template.messages)) return { reason: "has neither a text nor messages" };
  const messages = convertMessages(template.messages, () => convert);
  return "reason" in messages ? messages : { ...messages, model };
}

function converterOf(format: unknown): Convert {
  if (format === "MUSTACHE") return fromMustache;
  return format === "F_STRING" ? fromFString : fromPlainText;
}

/** The parameters of a call stand below the name of the provider's interface. */
function modelOf(row: ForeignRow): unknown {
  const invocation = parsed(row.invocation_parameters);
  const type = isObject(invocation) ? invocation.type : undefined;
  const parameters = isObject(invocation) && typeof type === "string" ? invocation[type] : undefined;
  const [tools, responseFormat] = [parsed(row.tools), parsed(row.response_format)];
  return {
    provider: String(row.model_provider).toLowerCase(),
    model: row.model_name,
    parameters: {
      ...(isObject(parameters) && parameters),
      ...(isObject(tools) && { tools }),
      ...(isObject(responseFormat) && { responseFormat }),
    },
  };
}
