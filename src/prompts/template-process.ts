import { runInThisContext } from "node:vm";
import { Template } from "@huggingface/jinja";

/** What the rendering process is sent. */
export interface Rendering {
  text: string;
  values: Record<string, string>;
}

/** What it answers: the text, or why there is none. */
export type Rendered = { result: string } | { fault: string; isSyntax: boolean };

const MOST_CHARS = 10_000_000;
/** Far behind the limit of the server, which ends this process: for a server that is gone before its limit. */
const ORPHAN_LIMIT_MS = 3_000;

process.on("message", (rendering: Rendering) => {
  Object.assign(globalThis, { renderNow: () => render(rendering) });
  process.send?.(runInThisContext("renderNow()", { timeout: ORPHAN_LIMIT_MS }));
});
// Ctrl-C reaches all processes of a terminal; the server still answers what it has begun.
process.on("SIGINT", () => {});
process.send?.("ready");

function render({ text, values }: Rendering): Rendered {
  let template: Template | undefined;
  try {
    template = new Template(text);
    const result = template.render(values);
    if (result.length <= MOST_CHARS) return { result };
    return { fault: `must not give more than ${MOST_CHARS} characters`, isSyntax: false };
  } catch (error) {
    return { fault: `could not be rendered: ${reasonOf(error)}`, isSyntax: template === undefined };
  }
}

const LONGEST_REASON = 200;

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : "";
  if (error instanceof RangeError) {
    return /stack/.test(reason) ? "it is nested too deeply" : "it makes more than fits into memory";
  }
  // `break` outside a loop comes as an error without a message.
  const told = reason.replace(/\s+/g, " ").replace(/\.$/, "") || "a statement stands where it cannot";
  return told.length > LONGEST_REASON ? `${told.slice(0, LONGEST_REASON).toWellFormed()}…` : told;
}
