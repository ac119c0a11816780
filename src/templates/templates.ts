import { badInput } from "../errors.ts";
import { createWorkerProcesses } from "../limits/workerProcesses.ts";
import { describeSyntaxError, toProgram } from "./parse.ts";
import type { TemplateAnswer, TemplateTask } from "./process.ts";
import { BUILT_INS, freeNames } from "./variables.ts";

/** A template, with the member of the input that errors name, such as `text` or `messages.2.content`. */
export interface NamedTemplate {
  path: string;
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

/** The variables of each template, like `parseTemplate`, but in a process beside the server, within 5 seconds and 128 MB. */
export async function findVariables(workspaceId: string, templates: NamedTemplate[]): Promise<string[][]> {
  const task = { texts: templates.map(({ text }) => text), values: null };
  const answer = await processes.run(workspaceId, task, PARSE_LIMIT_MS);
  return resultOf(templates, answer, "5 seconds", "read").names;
}

/**
 * Renders templates as `new Template(text).render(values)` of `@huggingface/jinja` does in the clients, and returns the
 * variables of each as well. Runs in a process beside the server, within a second and 128 MB for all of them. Throws
 * BAD_INPUT when a template fails or they exceed that, and UNAVAILABLE when too many tasks of the workspace are waiting.
 */
export async function renderTemplates(
  workspaceId: string,
  templates: NamedTemplate[],
  values: Record<string, string>,
): Promise<{ results: string[]; names: string[][] }> {
  const details = Object.keys(values)
    .filter((name) => BUILT_INS.has(name))
    .map((name) => ({ path: "variables", message: `must not hold "${name}": templates have that built in` }));
  if (details.length > 0) throw badInput(details);
  const task = { texts: templates.map(({ text }) => text), values };
  const answer = await processes.run(workspaceId, task, RENDER_LIMIT_MS);
  return resultOf(templates, answer, "a second", "render");
}

function resultOf(
  templates: NamedTemplate[],
  answer: TemplateAnswer | undefined,
  limit: string,
  what: string,
) {
  if (!answer) {
    const path = templates.length === 1 ? templates[0]!.path : "";
    throw badInput([{ path, message: `takes more than ${limit} or ${HEAP_MB} MB to ${what}` }]);
  }
  if ("error" in answer) throw badInput([{ path: templates[answer.index]!.path, message: answer.error }]);
  return answer;
}
