import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Context } from "../context.ts";
import { quoted } from "../errors.ts";
import { fromPromptYaml } from "../files/promptFile.ts";
import { printable } from "../printable.ts";
import { promptContents } from "../prompts/content.resolvers.ts";
import { planPrompt, type Step } from "./promptPlan.ts";
import { say } from "./workspace.ts";

export interface ImportPromptsOptions {
  yes?: true;
  dryRun?: true;
}

/** Makes the prompts of the workspace what the files of a folder say, after telling what that changes. */
export async function importPrompts(
  context: Context,
  folder: string,
  { yes, dryRun }: ImportPromptsOptions,
): Promise<void> {
  const steps = await planFolder(context, folder);
  if (steps.length === 0) return say("Nothing to do: the prompts are as the files say.");
  for (const { told } of steps) say(told);
  if (dryRun) return say(`Dry run, nothing was changed: ${steps.length} changes.`);
  if (!yes && !(await isAgreed())) throw new Error("Nothing was changed. To make these changes, say --yes.");
  for (const { run } of steps) await run(context);
  say(`Made ${steps.length} changes.`);
}

/** Reads and judges all files before anything is changed, and tells every fault with its file and line. */
async function planFolder(context: Context, folder: string): Promise<Step[]> {
  const names = await readdir(folder).catch(() => {
    throw new Error(`There is no folder ${folder}.`);
  });
  const files = names.filter((name) => /\.ya?ml$/.test(name)).toSorted();
  if (files.length === 0) throw new Error(`There is no file in ${folder} that ends with .yaml or .yml.`);
  const stored = new Map((await promptContents(context)).map((prompt) => [prompt.slug, prompt]));
  const steps: Step[] = [];
  const faults: string[] = [];
  const fileOf = new Map<string, string>();
  for (const name of files) {
    const path = join(folder, name);
    const read = fromPromptYaml(await readFile(path, "utf8"));
    const found = [...read.faults];
    if (read.prompt) {
      const { slug } = read.prompt;
      const other = fileOf.get(slug);
      if (other)
        found.push({
          line: read.lineOf(["slug"]),
          message: `the slug ${quoted(slug)} stands in ${other} too`,
        });
      fileOf.set(slug, path);
      const plan = planPrompt(read.prompt, stored.get(slug), read.lineOf);
      found.push(...plan.faults);
      steps.push(...plan.steps);
    }
    faults.push(...found.map(({ line, message }) => printable(`${path}, line ${line}: ${message}`)));
  }
  if (faults.length > 0)
    throw new Error(["Nothing was changed, because the files have faults:", ...faults].join("\n  "));
  return steps;
}

async function isAgreed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Make these changes? [y/N] ").finally(() => terminal.close());
  return /^y(?:es)?$/i.test(answer.trim());
}
