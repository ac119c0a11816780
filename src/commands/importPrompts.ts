import { createInterface } from "node:readline/promises";
import { InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import { printJson } from "./printing.ts";
import { planFolder } from "./promptFolder.ts";
import { say } from "./workspace.ts";

export interface ImportPromptsOptions {
  yes?: true;
  dryRun?: boolean;
  json?: true;
}

/** Changes the prompts of the workspace to what the files of a folder say, after listing the changes. */
export async function importPrompts(
  context: Context,
  folder: string,
  { yes, dryRun = false, json }: ImportPromptsOptions,
): Promise<void> {
  if (json && !yes && !dryRun)
    throw new InvalidArgumentError("With --json there is no question: add --yes or --dry-run.");
  const { prompts } = await planFolder(context, folder, "must be the same");
  const steps = prompts.flatMap((prompt) => prompt.steps);
  if (json) {
    if (!dryRun) for (const { run } of steps) await run(context);
    return printJson({ dryRun, changes: steps.map(({ description }) => description) });
  }
  if (steps.length === 0) return say("Nothing to do: the prompts are as the files say.");
  for (const { description } of steps) say(description);
  if (dryRun) return say(`Dry run, nothing was changed: ${steps.length} changes.`);
  if (!yes && !(await isAgreed("Make these changes?")))
    throw new Error("Nothing was changed. To make these changes, say --yes.");
  for (const { run } of steps) await run(context);
  say(`Made ${steps.length} changes.`);
}

/** Asks a person; without a terminal nobody can agree. */
export async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close());
  return /^y(?:es)?$/i.test(answer.trim());
}
