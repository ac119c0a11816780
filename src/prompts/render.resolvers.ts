import type { Context } from "../context.ts";
import { badInput, quoted } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { type NamedTemplate, renderTemplates } from "../templates/templates.ts";
import type { Warning } from "../warnings.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { RenderPromptInput } from "./inputs.ts";
import type { PlaceholderValue } from "./messages.inputs.ts";
import {
  followFromMessages,
  joinedWarnings,
  type Message,
  templatesOfMessages,
  textsOf,
} from "./messages.ts";
import { type ServedPrompt, servedPrompt } from "./reading.resolvers.ts";
import { compareVariables } from "./variables.ts";

/** A message as a model gets it. */
export interface ChatMessage {
  role: string;
  content: string;
  name?: string | null | undefined;
}

export interface RenderedPrompt extends Omit<ServedPrompt, "messages"> {
  messages: ChatMessage[] | null;
}

/**
 * The served version with its variables filled in and its placeholders replaced. Warnings name variables without a value,
 * unused values, and placeholders that do not match.
 */
export async function renderPrompt(context: Context, input: RenderPromptInput): Promise<RenderedPrompt> {
  const served = await servedPrompt(context, input);
  refuseMany(served.messages ?? [], input.placeholders ?? []);
  const values = Object.fromEntries((input.variables ?? []).map(({ label, value }) => [label, value ?? ""]));
  const templates = [...templatesOfTexts(served), ...templatesOfMessages(served.messages ?? [])];
  const { results, names } = await renderTemplates(authorize(context, "read"), templates, values);
  spendAnswerBytes(context, bytesOf(results, served.messages ?? [], input.placeholders ?? []));
  const rendered = new Map(templates.map(({ path }, n) => [path, results[n]!]));
  const filled = served.messages && fillPlaceholders(served.messages, rendered, input.placeholders ?? []);
  const texts = renderedTexts(served, rendered, filled?.messages ?? []);
  const mismatches = compareVariables([...new Set(names.flat())], values);
  const ofVersion = served.warnings.filter(({ code }) => code !== "MESSAGES_JOINED");
  return {
    ...served,
    text: texts.text,
    systemText: texts.systemText,
    messages: filled?.messages ?? null,
    warnings: [...ofVersion, ...joinedWarnings(texts), ...mismatches, ...(filled?.warnings ?? [])],
  };
}

/** Each is copied, and joined to the text, in one turn of the event loop: 200,000 took up to 0.4 s. */
const MAX_INSERTED = 10_000;

/** Throws BAD_INPUT where a few given messages would stand in the place of many placeholders. */
function refuseMany(messages: Message[], values: PlaceholderValue[]): void {
  const given = new Map(values.map(({ name, messages }) => [name, messages.length]));
  const inserted = messages.reduce(
    (sum, one) => sum + ("placeholder" in one ? (given.get(one.placeholder) ?? 0) : 0),
    0,
  );
  if (inserted <= MAX_INSERTED) return;
  const message = `would insert ${inserted} messages in all places, more than ${MAX_INSERTED}`;
  throw badInput([{ path: "placeholders", message }]);
}

/** What a message takes in memory beside its content. */
const MESSAGE_BYTES = 64;

/** The bytes of a rendered prompt: a few given messages may stand in the place of a thousand placeholders. */
function bytesOf(results: string[], messages: Message[], values: PlaceholderValue[]): number {
  const given = new Map(
    values.map(({ name, messages }) => [
      name,
      messages.reduce((sum, { content }) => sum + content.length + MESSAGE_BYTES, 0),
    ]),
  );
  const inserted = messages.map((one) => ("placeholder" in one ? (given.get(one.placeholder) ?? 0) : 0));
  const sum = [...results.map(({ length }) => length), ...inserted].reduce((all, bytes) => all + bytes, 0);
  return messages.length > 0 ? 2 * sum : sum; // they are in its text as well
}

/** The texts that do not follow from the messages. */
function templatesOfTexts(served: ServedPrompt): NamedTemplate[] {
  const { text, systemText } = served;
  const follows = followFromMessages(served);
  return [
    ...(follows.text ? [] : [{ path: "text", text }]),
    ...(follows.systemText || systemText === null ? [] : [{ path: "systemText", text: systemText }]),
  ];
}

function renderedTexts(served: ServedPrompt, rendered: ReadonlyMap<string, string>, chat: ChatMessage[]) {
  const messages = chat.map(({ name, ...message }) => ({ ...message, ...(name != null && { name }) }));
  const follows = followFromMessages(served);
  const ofMessages = textsOf(messages);
  return {
    text: follows.text ? ofMessages.text : rendered.get("text")!,
    systemText: follows.systemText ? ofMessages.systemText : (rendered.get("systemText") ?? null),
    messages: served.messages && messages,
  };
}

/** The rendered messages, with those that were given in the place of each placeholder; one without any is left out. */
function fillPlaceholders(
  messages: Message[],
  rendered: ReadonlyMap<string, string>,
  values: PlaceholderValue[],
): { messages: ChatMessage[]; warnings: Warning[] } {
  const given = new Map(values.map(({ name, messages }) => [name, messages]));
  const names = new Set(messages.flatMap((one) => ("placeholder" in one ? one.placeholder : [])));
  const filled = messages.flatMap((one, n): ChatMessage[] =>
    "placeholder" in one
      ? (given.get(one.placeholder) ?? [])
      : [{ ...one, content: rendered.get(`messages.${n}.content`)! }],
  );
  const missing = [...names].filter((name) => !given.has(name));
  const unknown = [...given.keys()].filter((name) => !names.has(name));
  return {
    messages: filled,
    warnings: [
      ...missing.map((name) =>
        warning("PLACEHOLDER_NOT_FILLED", `No messages were given for the placeholder ${name}.`),
      ),
      ...unknown.map((name) =>
        warning("PLACEHOLDER_NOT_USED", `The prompt has no placeholder ${quoted(name)}.`),
      ),
    ],
  };
}

const warning = (code: Warning["code"], message: string): Warning => ({
  code,
  message,
  path: "placeholders",
});
