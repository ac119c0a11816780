import type { Variable } from "./entities.ts";

/** The variables of a version: the declared ones, then those that only its templates use. */
export function mergeVariables(
  names: string[],
  declarations: Variable[] | null,
): { variables: Variable[]; warning: string | null } {
  const labels = new Set(declarations?.map(({ label }) => label));
  const usedNames = new Set(names);
  const undeclared = names.filter((name) => !labels.has(name));
  const variables = [
    ...(declarations ?? []),
    ...undeclared.map((label) => ({ label, type: "string", description: null })),
  ];
  if (labels.size === 0) return { variables, warning: null };
  const unused = [...labels].filter((label) => !usedNames.has(label));
  const warning = toWarning([
    ["The following variables are declared but not used", unused],
    ["The following variables are used but were not declared", undeclared],
  ]);
  return { variables, warning };
}

/** The warning for values that do not match the variables of a template; null when all match. */
export function compareVariables(names: string[], values: Record<string, string>): string | null {
  const usedNames = new Set(names);
  return toWarning([
    ["No value was given for", names.filter((name) => !Object.hasOwn(values, name))],
    ["The template does not use", Object.keys(values).filter((name) => !usedNames.has(name))],
  ]);
}

const MAX_NAMES = 20;

function toWarning(sentences: [string, string[]][]): string | null {
  const parts = sentences
    .filter(([, names]) => names.length > 0)
    .map(([sentence, names]) => {
      const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
      return `${sentence}: ${names.slice(0, MAX_NAMES).join(", ")}${more}.`;
    });
  return parts.length > 0 ? parts.join(" ") : null;
}
