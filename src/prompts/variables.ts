import type { Warning, WarningCode } from "../warnings.ts";
import type { Variable } from "./entities.ts";

/** The variables of a version: the declared ones, then those that only its templates use. */
export function mergeVariables(
  names: string[],
  declarations: Variable[] | null,
): { variables: Variable[]; warnings: Warning[] } {
  const labels = new Set(declarations?.map(({ label }) => label));
  const usedNames = new Set(names);
  const undeclared = names.filter((name) => !labels.has(name));
  const variables = [
    ...(declarations ?? []),
    ...undeclared.map((label) => ({ label, type: "string", description: null })),
  ];
  if (labels.size === 0) return { variables, warnings: [] };
  const unused = [...labels].filter((label) => !usedNames.has(label));
  const warnings = [
    ...namesWarning("VARIABLE_NOT_USED", "The following variables are declared but not used", unused),
    ...namesWarning(
      "VARIABLE_NOT_DECLARED",
      "The following variables are used but were not declared",
      undeclared,
    ),
  ];
  return { variables, warnings };
}

/** The warnings for values that do not match the variables of a template. */
export function compareVariables(names: string[], values: Record<string, string>): Warning[] {
  const usedNames = new Set(names);
  const missing = names.filter((name) => !Object.hasOwn(values, name));
  const unused = Object.keys(values).filter((name) => !usedNames.has(name));
  return [
    ...namesWarning("VALUE_MISSING", "No value was given for", missing),
    ...namesWarning("VALUE_NOT_USED", "The template does not use", unused),
  ];
}

const MAX_NAMES = 20;

function namesWarning(code: WarningCode, sentence: string, names: string[]): Warning[] {
  if (names.length === 0) return [];
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  const message = `${sentence}: ${names.slice(0, MAX_NAMES).join(", ")}${more}.`;
  return [{ code, message, path: "variables" }];
}
