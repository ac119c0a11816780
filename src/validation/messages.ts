import { z } from "zod";
import type { ErrorDetail } from "../errors.ts";

// An error is read behind its path: "values is required", "variables.0.label must be a string".
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

const MOST_FAULTS = 100;
const MOST_STEPS = 10;
const LONGEST_STEP = 100;
const MAX_PATH_CHARACTERS = 200;

/**
 * What a schema found wrong, each error with its path as dotted steps; paths begin within the member `within`, if they
 * lead there, and are cut where they grow absurd. Of very many errors the first hundred are told.
 */
export function detailsOf(issues: readonly StandardIssue[], within?: string): ErrorDetail[] {
  return issues.slice(0, MOST_FAULTS).map(({ message, path = [] }) => {
    const all = path.map((step) => String(typeof step === "object" ? step.key : step).slice(0, LONGEST_STEP));
    const steps = all[0] === within ? all.slice(1) : all;
    const cut = steps.length > MOST_STEPS ? [...steps.slice(0, MOST_STEPS), "…"] : steps;
    return { path: cut.join(".").slice(0, MAX_PATH_CHARACTERS), message };
  });
}

/** An issue as every Standard Schema library reports it, zod among them. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
