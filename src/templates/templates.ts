import { badInput } from "../errors.ts";
import { createWorkerProcesses } from "../limits/workerProcesses.ts";
import { describeSyntaxError, toProgram } from "./parse.ts";
import type { TemplateAnswer, TemplateTask } from "./process.ts";
import { BUILT_INS, freeNames } from "./variables.ts";

/** A template, with the member of the input that errors name. */
export interface NamedTemplate {
  path: "text" | "systemText";
  text: string;
}

/**
 * The names of the variables that a Jinja template reads from outside, in order of their first appearance. Throws
 * BAD_INPUT for `path` with the line and column (in characters, from 1) of an error. A long template takes up to a
 * second, so the server calls `findVariables` instead.
 */
export function parseTemplate({ path, text }: NamedTemplate): string[] {
  try {
    return freeNames(toProgram(text));
  } catch (error) {
    throw badInput([{ path, message: `is not a valid template${describeSyntaxError(text, error)}` }]);
  }
}

const HEAP_MB = 128;
const PARSE_LIMIT_MS = 5_000;
const RENDER_LIMIT_MS = 1_000;

/** Processes, not threads: a template that grows a list fills a thread's heap in one step, and V8 then ends the server. */
const processes = createWorkerProcesses<TemplateTask, TemplateAnswer>({
  file: new URL("./process.ts", import.meta.url),
  heapMb: HEAP_MB,
  busy: "Too many templates are being rendered. Try again in a while.",
});

/** Like `parseTemplate`, but in a process beside the server, within 5 seconds and 128 MB. */
export async function findVariables(workspaceId: string, { path, text }: NamedTemplate): Promise<string[]> {
  const answer = await processes.run(workspaceId, { text, values: null }, PARSE_LIMIT_MS);
  if (!answer) throw badInput([{ path, message: `takes more than 5 seconds or ${HEAP_MB} MB to read` }]);
  if ("error" in answer) throw badInput([{ path, message: answer.error }]);
  return answer.names;
}

/**
 * Renders a template as `new Template(text).render(values)` of `@huggingface/jinja` does in the clients, and returns its
 * variables as well. Runs in a process beside the server, within a second and 128 MB. Throws BAD_INPUT when the template
 * fails or exceeds that, and UNAVAILABLE when too many templates of the workspace are waiting.
 */
export async function renderTemplate(
  workspaceId: string,
  text: string,
  values: Record<string, string>,
): Promise<{ result: string; names: string[] }> {
  const details = Object.keys(values)
    .filter((name) => BUILT_INS.has(name))
    .map((name) => ({ path: "variables", message: `must not hold "${name}": templates have that built in` }));
  if (details.length > 0) throw badInput(details);
  const answer = await processes.run(workspaceId, { text, values }, RENDER_LIMIT_MS);
  if (!answer) {
    throw badInput([{ path: "text", message: `takes more than a second or ${HEAP_MB} MB to render` }]);
  }
  if ("error" in answer) throw badInput([{ path: "text", message: answer.error }]);
  return answer;
}
