import type { Variable } from "./entities.ts";

/** The variables of a version: the given ones, then those of its templates that were not given. */
export function mergeVariables(
  found: string[],
  given: Variable[] | null,
): { variables: Variable[]; warning: string | null } {
  const labels = new Set(given?.map(({ label }) => label));
  const read = new Set(found);
  const undeclared = found.filter((name) => !labels.has(name));
  const variables = [
    ...(given ?? []),
    ...undeclared.map((label) => ({ label, type: "string", description: null })),
  ];
  if (labels.size === 0) return { variables, warning: null };
  const unused = [...labels].filter((label) => !read.has(label));
  const warning = toWarning([
    ["The following variables are declared but not used", unused],
    ["The following variables are used but were not declared", undeclared],
  ]);
  return { variables, warning };
}

/** What to say of values that do not fit the variables of a template; null where all fit. */
export function compareVariables(found: string[], values: Record<string, string>): string | null {
  const read = new Set(found);
  return toWarning([
    ["No value was given for", found.filter((name) => !Object.hasOwn(values, name))],
    ["The template does not use", Object.keys(values).filter((name) => !read.has(name))],
  ]);
}

const MOST_NAMES = 20;

function toWarning(sentences: [string, string[]][]): string | null {
  const parts = sentences
    .filter(([, names]) => names.length > 0)
    .map(([sentence, names]) => {
      const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
      return `${sentence}: ${names.slice(0, MOST_NAMES).join(", ")}${more}.`;
    });
  return parts.length > 0 ? parts.join(" ") : null;
}
