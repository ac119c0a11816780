import { isObject } from "../formats/rows.ts";
import { type Converted, toJinja } from "./templates/pieces.ts";

/** Converts a template of another product. */
export type Convert = (template: string) => Converted;

/** Takes a text as it stands, without variables. */
export const fromPlainText: Convert = (text) => ({ text: toJinja([{ text }]) });

export type Refusal = { reason: string };

/** Converts a text; the refusal names its line. */
export function convertText(template: string, convert: Convert): { text: string } | Refusal {
  const converted = convert(template);
  if ("text" in converted) return converted;
  return { reason: `line ${converted.line} of its text: ${converted.reason}` };
}

/** Converts messages of `role` and `content`, which is a text or one part that is a text. */
export function convertMessages(
  messages: unknown[],
  convertOf: (message: Record<string, unknown>) => Convert,
): { messages: unknown[] } | Refusal {
  const converted: unknown[] = [];
  for (const [n, message] of messages.entries()) {
    const content = isObject(message) ? textOf(message.content) : undefined;
    if (!isObject(message) || content === undefined || hasCalls(message))
      return { reason: `message ${n + 1} is no text` };
    const text = convertText(content, convertOf(message));
    if ("reason" in text) return { reason: `message ${n + 1}: ${text.reason}` };
    const { role, name } = message;
    converted.push({ role: ROLES[String(role)] ?? role, content: text.text, ...(name ? { name } : {}) });
  }
  return { messages: converted };
}

const ROLES: Record<string, string> = { ai: "assistant", human: "user", model: "assistant" };

const hasCalls = (message: Record<string, unknown>): boolean =>
  ["tool_calls", "function_call"].some((name) => message[name] !== undefined && message[name] !== null);

/** The text of a message that has no other parts. */
function textOf(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content) || content.length !== 1) return undefined;
  const [part] = content;
  return isObject(part) && part.type === "text" && typeof part.text === "string" ? part.text : undefined;
}
