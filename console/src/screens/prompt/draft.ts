import type { PromptVersionInput } from "../../gql/graphql.ts";
import type { Version } from "./Texts.tsx";

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
  const { version, systemText, text, messages, model, provider, parameters, variables } = draft;
  const texts = messages
    ? {
        messages: messages.map(({ role, content, name, placeholder }) =>
          placeholder ? { placeholder } : { role, content, ...(name && { name }) },
        ),
      }
    : { systemText: systemText || null, text };
  return {
    version,
    ...texts,
    model: model ? { model, provider: provider || null, parameters } : null,
    // Those without a description are found in the texts again, if they are still there.
    variables: variables.flatMap(({ label, type, description }) =>
      description ? [{ label, type, description }] : [],
    ),
  };
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
