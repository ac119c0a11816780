import { isObject } from "../formats/rows.ts";
import { type Convert, convertText, fromPlainText, type Refusal } from "./chat.ts";
import type { ImportedVersion } from "./entries.ts";
import { fromFString } from "./templates/fString.ts";
import { fromJinja } from "./templates/jinja.ts";
import { fromMustache } from "./templates/mustache.ts";
import { objectIn, textIn, toModel } from "./values.ts";

type Values = Record<string, unknown>;
type Content = Pick<ImportedVersion, "text" | "messages" | "model">;

/** A prompt as LangChain serialises it, also with the model that it is piped into. */
export function fromManifest(manifest: Values): (Content | Refusal) & { leftOut?: string[] } {
  const kwargs = objectIn(manifest, "kwargs") ?? {};
  const kind = classOf(manifest);
  if (kind === "RunnableSequence") {
    const { leftOut, ...content } = fromManifest(objectIn(kwargs, "first") ?? {});
    if ("reason" in content) return content;
    return { ...content, model: modelOf(kwargs.last), ...(leftOut && { leftOut }) };
  }
  if (kind === "PromptTemplate") return { ...toText(manifest), ...escaping(manifest) };
  if (kind !== "ChatPromptTemplate" && kind !== "StructuredPrompt")
    return { reason: `is a ${kind || "manifest without a class"}, which is no prompt of texts` };
  if (!Array.isArray(kwargs.messages)) return { reason: "has no messages" };
  const messages: unknown[] = [];
  for (const each of kwargs.messages) {
    const message = toMessage(isObject(each) ? each : {});
    if ("reason" in message) return { reason: `message ${messages.length + 1}: ${message.reason}` };
    messages.push(message);
  }
  const schema = kind === "StructuredPrompt" ? ["schemas of structured prompts"] : [];
  return { messages, leftOut: [...schema, ...(escaping(manifest).leftOut ?? [])] };
}

/** The name of a class stands last in its id. */
function classOf({ id }: Values): string {
  return Array.isArray(id) ? String(id.at(-1)) : "";
}

const roles: Record<string, string> = { System: "system", Human: "user", AI: "assistant" };

function toMessage(message: Values): Values | Refusal {
  const kind = classOf(message);
  const kwargs = objectIn(message, "kwargs") ?? {};
  if (kind === "MessagesPlaceholder") return { placeholder: kwargs.variable_name };
  const [, name = ""] = /^(\w+?)Message(?:PromptTemplate)?(?:Chunk)?$/.exec(kind) ?? [];
  const role = name === "Chat" ? textIn(kwargs, "role") : roles[name];
  if (!role) return { reason: `is a ${kind || "message without a class"}` };
  const text = kind.endsWith("PromptTemplate") ? toText(onlyPart(kwargs.prompt)) : plainText(kwargs.content);
  return "reason" in text ? text : { role, content: text.text };
}

/** The template of a message that has no other parts. */
function onlyPart(prompt: unknown): Values {
  const part: unknown = Array.isArray(prompt) && prompt.length === 1 ? prompt[0] : prompt;
  return isObject(part) ? part : {};
}

const plainText = (content: unknown) =>
  typeof content === "string" ? convertText(content, fromPlainText) : { reason: "is no text" };

const converters: Record<string, Convert> = {
  "f-string": fromFString,
  mustache: fromMustache,
  jinja2: fromJinja,
};

function toText(prompt: Values): { text: string } | Refusal {
  const { template, template_format: format = "f-string" } = objectIn(prompt, "kwargs") ?? {};
  const convert = converters[String(format)];
  if (typeof template !== "string") return { reason: "is no text" };
  return convert ? convertText(template, convert) : { reason: `has the format ${format}` };
}

/** LangChain for Python escapes the values of Mustache for HTML, and LangChain for JavaScript does not. */
function escaping(manifest: Values): { leftOut?: string[] } {
  const isMustache = JSON.stringify(manifest).includes('"template_format":"mustache"');
  return isMustache ? { leftOut: ["escaping for HTML, as LangChain for Python does it in Mustache"] } : {};
}

/** A model, without secrets and other objects of LangChain. */
function modelOf(last: unknown): unknown {
  if (!isObject(last)) return undefined;
  const kwargs = objectIn(last, "kwargs") ?? {};
  if (isObject(kwargs.bound)) return modelOf(kwargs.bound);
  const plain = Object.entries(kwargs).filter(([, value]) => !(isObject(value) && "lc" in value));
  const { model_name: named, model = named, ...parameters } = Object.fromEntries(plain);
  const { id } = last;
  const provider = Array.isArray(id) && typeof id.at(-2) === "string" ? id.at(-2) : undefined;
  return toModel({ ...parameters, model }, provider);
}
