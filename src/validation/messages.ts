import { z } from "zod";
import type { ErrorDetail } from "../errors.ts";

// A message follows its path: "values is required", "variables.0.label must be a string".
z.config({ customError: (issue) => errorMessage(issue) });

const expectedNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  object: "an object",
  array: "a list",
  boolean: "true or false",
  date: "a time",
};

function errorMessage(issue: Parameters<z.core.$ZodErrorMap>[0]): string | undefined {
  if (issue.code === "invalid_type") {
    if (issue.input === undefined) return "is required";
    if (typeof issue.input === "number" && issue.expected === "number") return "must be a finite number";
    return `must be ${expectedNames[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === "too_small") {
    return issue.origin === "string" && issue.minimum === 1
      ? "must not be empty"
      : `must be at least ${issue.minimum}`;
  }
  if (issue.code === "too_big") {
    return issue.origin === "string"
      ? `must have at most ${issue.maximum} characters`
      : `must be at most ${issue.maximum}`;
  }
  if (issue.code === "invalid_value") return `must be one of ${issue.values.join(", ")}`;
  return undefined;
}

export const MAX_ERRORS = 100;
const MAX_STEPS = 10;
const MAX_STEP_CHARACTERS = 100;
const MAX_PATH_CHARACTERS = 200;

/**
 * The errors of a schema, at most a hundred, each with its path as dotted steps. A leading step `within` is left out, and
 * very long paths are cut.
 */
export function detailsOf(issues: readonly StandardIssue[], within?: string): ErrorDetail[] {
  return issues.slice(0, MAX_ERRORS).map(({ message, path = [] }) => {
    const all = path.map((step) =>
      String(typeof step === "object" ? step.key : step).slice(0, MAX_STEP_CHARACTERS),
    );
    const steps = all[0] === within ? all.slice(1) : all;
    const cut = steps.length > MAX_STEPS ? [...steps.slice(0, MAX_STEPS), "…"] : steps;
    return { path: cut.join(".").slice(0, MAX_PATH_CHARACTERS), message };
  });
}

/** An issue as every Standard Schema library reports it, zod among them. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
