/**
 * What the messages of a model say, without their JSON: those of OpenAI, Anthropic, Google and OpenTelemetry alike. Null for
 * anything else.
 */
export function messageText(value: unknown): string | null {
  const messages = Array.isArray(value) ? value : [value];
  const texts = messages.map((message) =>
    isObject(message) && "role" in message ? contentOf(message) : null,
  );
  return texts.length > 0 && texts.every((text) => text !== null) ? texts.join(" ") : null;
}

function contentOf(part: unknown): string | null {
  if (typeof part === "string") return part;
  if (Array.isArray(part)) {
    const texts = part.map(contentOf).filter((text) => text !== null);
    return texts.length > 0 ? texts.join(" ") : null;
  }
  return isObject(part) ? contentOf(part.content ?? part.parts ?? part.text) : null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
