import { runInThisContext } from "node:vm";
import { Template } from "@huggingface/jinja";
import { describeSyntaxError, toProgram } from "./parse.ts";
import { freeNames } from "./variables.ts";

/** A request to the process: to render templates or, without values, to find their variables. */
export interface TemplateTask {
  texts: string[];
  values: Record<string, string> | null;
}

/** Its response: the variables and the rendered text of each, empty without values; or the error of the first that fails. */
export type TemplateAnswer = { names: string[][]; results: string[] } | { error: string; index: number };

/** Of all results together. */
const MAX_RESULT_CHARACTERS = 10_000_000;
/** Ends the work for a server that is gone; one that runs ends this process earlier. */
const ORPHAN_LIMIT_MS = 6_000;

process.on("message", (task: TemplateTask) => {
  Object.assign(globalThis, { answerNow: () => answer(task) });
  process.send?.(runInThisContext("answerNow()", { timeout: ORPHAN_LIMIT_MS }));
});
// Ctrl-C reaches this process as well, but the server still finishes its requests.
process.on("SIGINT", () => {});
process.send?.("ready");

function answer({ texts, values }: TemplateTask): TemplateAnswer {
  const names: string[][] = [];
  const results: string[] = [];
  let left = MAX_RESULT_CHARACTERS;
  for (const [index, text] of texts.entries()) {
    const one = answerOne(text, values, left);
    if ("error" in one) return { ...one, index };
    names.push(one.names);
    results.push(one.result);
    left -= one.result.length;
  }
  return { names, results };
}

function answerOne(
  text: string,
  values: TemplateTask["values"],
  maxCharacters: number,
): { names: string[]; result: string } | { error: string } {
  let template: Template;
  try {
    if (values === null) return { names: freeNames(toProgram(text)), result: "" };
    template = new Template(text);
  } catch (error) {
    return { error: `is not a valid template${describeSyntaxError(text, error)}` };
  }
  try {
    const result = template.render(values);
    if (result.length <= maxCharacters) return { names: freeNames(template.parsed), result };
    return { error: `must not give more than ${MAX_RESULT_CHARACTERS} characters` };
  } catch (error) {
    return { error: `could not be rendered: ${reasonOf(error)}` };
  }
}

const MAX_REASON_CHARACTERS = 200;

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : "";
  if (error instanceof RangeError) {
    return /stack/.test(reason) ? "it is nested too deeply" : "it makes more than fits into memory";
  }
  // `break` outside a loop comes as an error without a message.
  const line = reason.replace(/\s+/g, " ").replace(/\.$/, "") || "a statement stands where it cannot";
  return line.length > MAX_REASON_CHARACTERS
    ? `${line.slice(0, MAX_REASON_CHARACTERS).toWellFormed()}…`
    : line;
}
