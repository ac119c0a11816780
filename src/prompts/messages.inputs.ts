import { z } from "zod";
import { list } from "../validation/list.ts";
import { text } from "../validation/text.ts";
import type { Message } from "./messages.ts";

/** The most messages of a version, and of all fillings of its placeholders together. */
export const MAX_MESSAGES = 1_000;
const MAX_CHARACTERS = 500_000;
const MAX_NAME_CHARACTERS = 128;

/** It stands in texts that join messages, so it must not be part of a template. */
const label = () =>
  text(MAX_NAME_CHARACTERS).regex(/^[\p{L}\p{N}_.-]+$/u, {
    error: "must have letters, digits, `_`, `.` and `-` only",
  });

const role = label().describe(
  "Who says it: `system`, `developer`, `user`, `assistant`, `tool` or another role.",
);
const name = label().nullish().describe("The name of who says it.");
const content = () => text(MAX_CHARACTERS);

/** The members of a message, or of a placeholder. */
export const promptMessageShape = z
  .object({
    role: role.nullish().describe(`${role.description} Not for a placeholder.`),
    content: content()
      .nullish()
      .describe(
        "What is said: a Jinja template. Not for a placeholder. All messages have at most 500,000 characters together.",
      ),
    name,
    placeholder: label()
      .nullish()
      .describe("Instead of role and content: the name of messages that the application inserts here."),
  })
  .describe("A message of a prompt, or a placeholder for messages.");

type Members = z.output<typeof promptMessageShape>;

function toMessage({ role, content, name, placeholder }: Members, context: z.RefinementCtx): Message {
  const isMessage = role != null && content != null && placeholder == null;
  if (isMessage) return { role, content, ...(name != null && { name }) };
  if (placeholder != null && role == null && content == null && name == null) return { placeholder };
  context.addIssue({ code: "custom", message: "must have role and content, or placeholder instead of them" });
  return z.NEVER;
}

const charactersOf = (messages: Message[]) =>
  messages.reduce((sum, message) => sum + ("content" in message ? message.content.length : 0), 0);

const messagesOf = (members: z.ZodType<Members>) =>
  list(members.transform(toMessage), MAX_MESSAGES)
    .refine((messages) => messages.length > 0, { error: "must not be empty" })
    .refine((messages) => charactersOf(messages) <= MAX_CHARACTERS, {
      error: "must have at most 500,000 characters together",
    });

export const promptMessages = messagesOf(promptMessageShape);
/** The same in files, where an unknown member is an error. */
export const strictPromptMessages = messagesOf(z.strictObject(promptMessageShape.shape));

export const insertedMessage = z
  .object({ role, content: content().describe("What is said. It is no template."), name })
  .describe("A message to insert.");

export const placeholderValue = z
  .object({
    name: text(MAX_NAME_CHARACTERS).describe("The name of the placeholder."),
    messages: list(insertedMessage, MAX_MESSAGES).describe("The messages to put in its place."),
  })
  .describe("What to put in the place of a placeholder.");
export type PlaceholderValue = z.output<typeof placeholderValue>;
