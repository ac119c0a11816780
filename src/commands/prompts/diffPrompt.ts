import { styleText } from "node:util";
import type { Context } from "../../context.ts";
import { printableText } from "../../printable.ts";
import { type PromptDiffInput, promptDiffInput } from "../../prompts/inputs.ts";
import { promptDiff } from "../../prompts/reading.resolvers.ts";
import { describePrompt, type PromptDescription } from "../../prompts/resolvers.ts";
import { LATEST } from "../../prompts/selection.ts";
import { tagsOf } from "../../prompts/versions.resolvers.ts";
import { checkOptions } from "../options.ts";
import { printJson, printLines } from "../printing.ts";
import { warn } from "../workspace.ts";

/** Prints what differs between two versions, each named by itself or by a tag. */
export async function diffPrompt(
  context: Context,
  input: PromptDiffInput,
  { json }: { json?: true },
): Promise<void> {
  const { slug, ...names } = checkOptions(promptDiffInput, input);
  const prompt = await describePrompt(context, { slug });
  const from = await versionNamed(context, prompt, names.from);
  const to = await versionNamed(context, prompt, names.to);
  const diff = await promptDiff(context, { slug, from, to });
  if (json) await printJson({ slug, from, to, diff });
  else if (diff === "") warn(`Nothing differs between ${from} and ${to}.`);
  else await printLines(diff.trimEnd().split("\n").map(formatLine));
}

/** The version with a name or a tag; any other name is returned, so that the error names it. */
async function versionNamed(
  context: Context,
  { id, versions = [] }: PromptDescription,
  name: string,
): Promise<string> {
  if (versions.some(({ version }) => version === name)) return name;
  if (name === LATEST) return versions.at(-1)?.version ?? name;
  return (await tagsOf(context, id)).find(({ label }) => label === name)?.version ?? name;
}

/** A line of a diff, in colours on a terminal that shows them. */
export function formatLine(line: string): string {
  const text = printableText(line);
  const style = { "+": "green", "-": "red", "@": "cyan" }[line[0] ?? ""] as "green" | undefined;
  return style ? styleText(style, text, { stream: process.stdout }) : text;
}
