import { badInput } from "../errors.ts";
import type { Variable } from "./entities.ts";
import { BUILT_INS, freeNames } from "./template-names.ts";
import { renderInProcess } from "./template-renderer.ts";
import { describeSyntaxFault, toProgram } from "./template-syntax.ts";

/**
 * The names of the variables that a Jinja template reads from outside, in order of their first appearance. Throws
 * BAD_INPUT for `path` with line and column (in characters, from 1) where the template is wrong.
 */
export function parseTemplate(text: string, path = "text"): string[] {
  try {
    return freeNames(toProgram(text));
  } catch (error) {
    throw badInput([{ path, message: `is not a valid template${describeSyntaxFault(text, error)}` }]);
  }
}

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

/**
 * What `new Template(text).render(values)` of `@huggingface/jinja` gives, as the clients call it, within a second and
 * 128 MB: a process beside the server renders. Throws BAD_INPUT where the template fails or asks for more, and
 * UNAVAILABLE when other templates keep the process busy.
 */
export async function renderTemplate(text: string, values: Record<string, string>): Promise<string> {
  const faults = Object.keys(values)
    .filter((name) => BUILT_INS.has(name))
    .map((name) => ({ path: "variables", message: `must not hold "${name}": templates have that built in` }));
  if (faults.length > 0) throw badInput(faults);
  const answer = await renderInProcess({ text, values });
  if ("result" in answer) return answer.result;
  if (answer.isSyntax) parseTemplate(text);
  throw badInput([{ path: "text", message: answer.fault }]);
}

const MOST_NAMES = 20;

function toWarning(sentences: [string, string[]][]): string | null {
  const told = sentences
    .filter(([, names]) => names.length > 0)
    .map(([sentence, names]) => {
      const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
      return `${sentence}: ${names.slice(0, MOST_NAMES).join(", ")}${more}.`;
    });
  return told.length > 0 ? told.join(" ") : null;
}
