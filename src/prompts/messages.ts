import type { NamedTemplate } from "../templates/templates.ts";
import type { Warning } from "../warnings.ts";

/** A message of a chat, whose content is a Jinja template; or the name of a list of messages that applications insert. */
export type Message = { role: string; content: string; name?: string } | { placeholder: string };

/** The texts that stand for the messages of a version, for clients that know no messages. */
export interface MessageTexts {
  text: string;
  systemText: string | null;
  /** Whether `text` shows several messages as one. */
  isJoined: boolean;
}

/**
 * The leading system message and, when nothing but a message of the user follows, that message. Otherwise all that
 * follows is one text, each message under its role.
 */
export function textsOf(messages: Message[]): MessageTexts {
  const [first, ...others] = messages;
  const leading = first && "role" in first && first.role === "system" ? first : null;
  const rest = leading ? others : messages;
  const systemText = leading?.content ?? null;
  const [only, ...more] = rest;
  if (only && more.length === 0 && "role" in only && only.role === "user")
    return { text: only.content, systemText, isJoined: false };
  return { text: rest.map(underRole).join("\n\n"), systemText, isJoined: true };
}

/** A message under its heading, or a placeholder: the form in which several messages are one text. */
export function underRole(message: Message): string {
  return "placeholder" in message ? `[${message.placeholder}]` : `${headingOf(message)}\n${message.content}`;
}

function headingOf({ role, name }: { role: string; name?: string }): string {
  return `${role}${name === undefined ? "" : ` (${name})`}:`;
}

/** 64,000 line ends take 10 ms to indent. */
const INDENTED_AT_ONCE = 64 * 1024;

/**
 * The form in which messages are compared, piece by piece: what is indented is content, so that it never looks like another
 * message.
 */
export function* indentedMessages(messages: Message[]): Generator<string> {
  for (const message of messages) {
    if ("placeholder" in message) yield underRole(message);
    else {
      yield `${headingOf(message)}\n  `;
      const { content } = message;
      for (let at = 0; at < content.length; at += INDENTED_AT_ONCE)
        yield content.slice(at, at + INDENTED_AT_ONCE).replaceAll(/[\n\r\u2028\u2029]/g, "$&  ");
    }
    yield "\n";
  }
}

interface Texts {
  text: string;
  systemText: string | null;
  messages: Message[] | null;
}

/** Which texts of a version follow from its messages, and are not texts of their own. */
export function followFromMessages({ text, systemText, messages }: Texts) {
  const texts = messages && textsOf(messages);
  return { text: texts?.text === text, systemText: texts?.systemText === systemText };
}

/** The templates of messages. */
export function templatesOfMessages(messages: Message[]): NamedTemplate[] {
  return messages.flatMap((message, n) =>
    "content" in message ? [{ path: `messages.${n}.content`, text: message.content }] : [],
  );
}

/** The warning of a version whose text shows several messages as one. */
export function joinedWarnings({ text, messages }: Texts): Warning[] {
  const ofMessages = messages && textsOf(messages); // once: it may have megabytes
  if (!ofMessages?.isJoined || ofMessages.text !== text) return [];
  const message =
    "The text shows several messages as one, each under its role; use the messages where you can.";
  return [{ code: "MESSAGES_JOINED", message, path: "messages" }];
}
