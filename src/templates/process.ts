import { runInThisContext } from "node:vm";
import { Template } from "@huggingface/jinja";
import { describeSyntaxError, toProgram } from "./parse.ts";
import { freeNames } from "./variables.ts";

/** What the process is sent: a template to fill in, or without values one whose variables are to be found. */
export interface TemplateTask {
  text: string;
  values: Record<string, string> | null;
}

/** What it answers: the variables, and the text where values were sent; or what is wrong with the template. */
export type TemplateAnswer = { names: string[]; result: string } | { error: string };

const MOST_CHARS = 10_000_000;
/** Beyond the limits of the server, which ends this process: for a server that is gone before its limit. */
const ORPHAN_LIMIT_MS = 6_000;

process.on("message", (task: TemplateTask) => {
  Object.assign(globalThis, { answerNow: () => answer(task) });
  process.send?.(runInThisContext("answerNow()", { timeout: ORPHAN_LIMIT_MS }));
});
// Ctrl-C reaches all processes of a terminal; the server still answers what it has begun.
process.on("SIGINT", () => {});
process.send?.("ready");

function answer({ text, values }: TemplateTask): TemplateAnswer {
  let template: Template;
  try {
    if (values === null) return { names: freeNames(toProgram(text)), result: "" };
    template = new Template(text);
  } catch (error) {
    return { error: `is not a valid template${describeSyntaxError(text, error)}` };
  }
  try {
    const result = template.render(values);
    if (result.length <= MOST_CHARS) return { names: freeNames(template.parsed), result };
    return { error: `must not give more than ${MOST_CHARS} characters` };
  } catch (error) {
    return { error: `could not be rendered: ${reasonOf(error)}` };
  }
}

const LONGEST_REASON = 200;

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : "";
  if (error instanceof RangeError) {
    return /stack/.test(reason) ? "it is nested too deeply" : "it makes more than fits into memory";
  }
  // `break` outside a loop comes as an error without a message.
  const line = reason.replace(/\s+/g, " ").replace(/\.$/, "") || "a statement stands where it cannot";
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON).toWellFormed()}…` : line;
}
