/** A message to a model or from it. */
export interface Message {
  role: string;
  name: string | null;
  /** What it says. */
  text: string;
  /** What else it holds, such as calls of tools; null for nothing. */
  rest: object | null;
}

/**
 * The messages of a value as OpenAI, Anthropic, Google and OpenTelemetry write them: a list, or an object with `messages` or
 * with a role. Null for anything else.
 */
export function messagesOf(value: unknown): Message[] | null {
  if (isObject(value) && Array.isArray(value.messages) && Object.keys(value).length === 1)
    return messagesOf(value.messages);
  const messages = (Array.isArray(value) ? value : [value]).map(messageOf);
  return messages.length > 0 && messages.every((message) => message !== null) ? messages : null;
}

function messageOf(value: unknown): Message | null {
  if (!isObject(value) || typeof value.role !== "string") return null;
  const { role, name, content, parts, ...others } = value;
  const all = [content, parts].flat().filter((part) => part != null);
  const texts = all.map(textOf);
  const otherParts = all.filter((_, n) => texts[n] === null);
  const rest = {
    ...Object.fromEntries(Object.entries(others).filter(([, member]) => member != null)),
    ...(otherParts.length > 0 && { parts: otherParts }),
  };
  return {
    role,
    name: typeof name === "string" ? name : null,
    text: texts.filter((text) => text !== null).join("\n"),
    rest: Object.keys(rest).length > 0 ? rest : null,
  };
}

/** The text of a part that is nothing else than text. */
function textOf(part: unknown): string | null {
  if (typeof part === "string") return part;
  if (!isObject(part)) return null;
  const { type = "text", text, content, ...others } = part;
  const isText = typeof type === "string" && TEXT_TYPES.includes(type) && Object.keys(others).length === 0;
  const own = text ?? content;
  return isText && typeof own === "string" ? own : null;
}

const TEXT_TYPES = ["text", "input_text", "output_text"];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What the messages of a value say, in one text; null where it holds none, or they say nothing. */
export const messageText = (value: unknown): string | null =>
  messagesOf(value)
    ?.map(({ text }) => text)
    .filter(Boolean)
    .join(" ") || null;
