import type { PromptVersionInput } from "../../gql/graphql.ts";
import type { Version } from "./queries.ts";

/** A message while it is edited; `key` stays with it when it moves. */
export interface DraftMessage {
  key: number;
  role: string;
  content: string;
  name?: string | null;
  placeholder?: string | null;
}

export interface Draft {
  version: string;
  systemText: string;
  text: string;
  /** Whether it has texts of its own; else Gabbro makes them of the messages. */
  hasTexts: boolean;
  messages: DraftMessage[] | null;
  model: string;
  provider: string;
  parameters: Record<string, unknown>;
  variables: Version["variables"];
}

export function draftOf(base: Version | null, versions: string[]): Draft {
  return {
    version: nextVersion(base?.version, versions),
    systemText: base?.systemText ?? "",
    text: base?.text ?? "",
    hasTexts: !base?.messages || textOfMessages(base.messages) !== base.text,
    messages:
      base?.messages?.map(({ role, content, name, placeholder }, key) => ({
        key,
        role: role ?? "",
        content: content ?? "",
        name: name ?? null,
        placeholder: placeholder ?? null,
      })) ?? null,
    model: base?.model?.model ?? "",
    provider: base?.model?.provider ?? "",
    parameters: base?.model?.parameters ?? {},
    variables: base?.variables ?? [],
  };
}

export function inputOf(draft: Draft): PromptVersionInput {
  const { version, systemText, text, hasTexts, messages, model, provider, parameters, variables } = draft;
  return {
    version,
    ...(hasTexts && { systemText: systemText || null, text }),
    ...(messages && {
      messages: messages.map(({ role, content, name, placeholder }) =>
        placeholder ? { placeholder } : { role, content, ...(name && { name }) },
      ),
    }),
    model: model ? { model, provider: provider || null, parameters } : null,
    // Those without anything but a name are found in the texts again, if they are still there.
    variables: variables.flatMap(({ label, type, description }) =>
      description || type !== "string" ? [{ label, type, description: description ?? null }] : [],
    ),
  };
}

/** The text that Gabbro makes of messages for a version without one: that of the user, or all under their roles. */
function textOfMessages(messages: NonNullable<Version["messages"]>): string {
  const rest = messages[0]?.role === "system" ? messages.slice(1) : messages;
  const [only] = rest;
  if (only && rest.length === 1 && only.role === "user") return only.content ?? "";
  return rest
    .map(({ role, name, content, placeholder }) =>
      placeholder ? `[${placeholder}]` : `${role}${name ? ` (${name})` : ""}:\n${content}`,
    )
    .join("\n\n");
}

/** One more than the base in its last number, as often as it takes to be new. */
export function nextVersion(base: string | undefined, versions: string[]): string {
  if (base === undefined) return "1.0.0";
  const [, before, number] = /^(.*?)(\d{1,9})$/s.exec(base) ?? [];
  if (number === undefined) return `${base}.1`;
  let next = Number(number) + 1;
  while (versions.includes(before + String(next))) next += 1;
  return before + String(next);
}
