import type { Version } from "./queries.ts";

/** A version as one text: everything that can differ. */
export function textOf({ systemText, text, messages, model, variables }: Version): string {
  const parts = messages
    ? messages.map(({ role, name, content, placeholder }) =>
        placeholder
          ? `— messages “${placeholder}” —`
          : `— ${[role, name].filter(Boolean).join(" · ")} —\n${content}`,
      )
    : [...(systemText ? [`— system —\n${systemText}`] : []), `— text —\n${text}`];
  const modelText =
    model &&
    `— model —\n${[model.provider, model.model].filter(Boolean).join(" / ")}\n${JSON.stringify(model.parameters, null, 2)}`;
  const variableText = variables.map(
    ({ label, type, description }) => `${label}: ${type}${description ? ` (${description})` : ""}`,
  );
  return [...parts, ...(modelText ? [modelText] : []), `— variables —\n${variableText.join("\n")}`].join(
    "\n\n",
  );
}
