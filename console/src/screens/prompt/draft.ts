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
  /** Which texts are its own; the others Gabbro makes of the messages. */
  own: { text: boolean; systemText: boolean };
  messages: DraftMessage[] | null;
  model: string;
  provider: string;
  parameters: Record<string, unknown>;
  variables: Version["variables"];
  /** The model as it was, with what this form does not show. */
  baseModel: Version["model"];
}

export function draftOf(base: Version | null, versions: string[]): Draft {
  return {
    version: nextVersion(base?.version, versions),
    systemText: base?.systemText ?? "",
    text: base?.text ?? "",
    own: ownTextsOf(base),
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
    baseModel: base?.model ?? null,
  };
}

function ownTextsOf(base: Version | null): Draft["own"] {
  if (!base?.messages) return { text: true, systemText: true };
  const [first] = base.messages;
  const systemOfMessages = first?.role === "system" ? (first.content ?? null) : null;
  const systemText = systemOfMessages !== base.systemText;
  // Gabbro makes a system text of the messages, unless there is a text.
  const isNone = systemText && base.systemText === null;
  return { systemText, text: isNone || textOfMessages(base.messages) !== base.text };
}

/** What was written as texts, as messages. */
export function asMessages({ systemText, text }: Draft): Pick<Draft, "messages" | "own"> {
  const user = { key: 0, role: "user", content: text };
  return {
    messages: systemText === "" ? [user] : [{ key: 1, role: "system", content: systemText }, user],
    own: { text: false, systemText: false },
  };
}

export function inputOf(draft: Draft): PromptVersionInput {
  const { version, systemText, text, own, messages, variables } = draft;
  return {
    version,
    ...(own.systemText && { systemText: systemText || null }),
    ...(own.text && { text }),
    ...(messages && {
      messages: messages.map(({ role, content, name, placeholder }) =>
        placeholder ? { placeholder } : { role, content, ...(name && { name }) },
      ),
    }),
    model: modelOf(draft),
    // Those without anything but a name are found in the texts again, if they are still there.
    variables: variables.flatMap(({ label, type, description }) =>
      description || type !== "string" ? [{ label, type, description: description ?? null }] : [],
    ),
  };
}

function modelOf({ model, provider, parameters, baseModel }: Draft): PromptVersionInput["model"] {
  if (!model) return null;
  const isSame = model === baseModel?.model && provider === (baseModel.provider ?? "");
  const { client, version } = isSame ? baseModel : {};
  return { model, provider: provider || null, client: client ?? null, version: version ?? null, parameters };
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
