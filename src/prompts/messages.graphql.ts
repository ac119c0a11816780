import { builder } from "../graphql/builder.ts";
import type { Message } from "./messages.ts";
import type { ChatMessage } from "./render.resolvers.ts";

const part = (name: "role" | "content" | "name" | "placeholder") => (message: Message) =>
  (message as Partial<Record<typeof name, string>>)[name] ?? null;

/** Flat, as its input is: a client reads it and writes it back with the same members. */
export const PromptMessage = builder.objectRef<Message>("PromptMessage").implement({
  description: "A message of a prompt, or a placeholder for messages that the application inserts.",
  fields: (t) => ({
    role: t.string({
      nullable: true,
      description: "Who says it, such as `system`, `user` or `assistant`; null for a placeholder.",
      resolve: part("role"),
    }),
    content: t.string({
      nullable: true,
      description: "What is said, a Jinja template; null for a placeholder.",
      resolve: part("content"),
    }),
    name: t.string({ nullable: true, description: "The name of who says it.", resolve: part("name") }),
    placeholder: t.string({
      nullable: true,
      description: "The name of the placeholder; null for a message.",
      resolve: part("placeholder"),
    }),
  }),
});

export const ChatMessageType = builder.objectRef<ChatMessage>("ChatMessage").implement({
  description: "A message as a model gets it.",
  fields: (t) => ({
    role: t.exposeString("role", { description: "Who says it, such as `system`, `user` or `assistant`." }),
    content: t.exposeString("content", { description: "What is said, with the variables filled in." }),
    name: t.exposeString("name", { nullable: true, description: "The name of who says it." }),
  }),
});
