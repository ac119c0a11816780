import { createInterface } from "node:readline/promises";
import { InvalidArgumentError } from "commander";
import type { Context } from "../../context.ts";
import { printJson } from "../printing.ts";
import { findSource } from "../promptFiles/gitSource.ts";
import { type FolderPlan, type PlannedPrompt, planFolder } from "../promptFiles/promptFolder.ts";
import { say } from "../workspace.ts";

export interface ImportPromptsOptions {
  yes?: true;
  dryRun?: boolean;
  json?: true;
}

/**
 * Changes the prompts of the workspace to what the files of a folder say, after listing the changes. Returns how the files and
 * the prompts compared before.
 */
export async function importPrompts(
  context: Context,
  folder: string,
  { yes, dryRun = false, json }: ImportPromptsOptions,
): Promise<FolderPlan> {
  if (json && !yes && !dryRun)
    throw new InvalidArgumentError("With --json there is no question: add --yes or --dry-run.");
  const plan = await planFolder(context, folder, "must be the same");
  const steps = plan.prompts.flatMap((prompt) => prompt.steps);
  if (!json) for (const { description } of steps) say(description);
  if (!yes && !dryRun && steps.length > 0 && !(await isAgreed("Make these changes?")))
    throw new Error("Nothing was changed. To make these changes, say --yes.");
  if (!dryRun) for (const prompt of plan.prompts) await change(context, prompt);
  if (json) await printJson({ dryRun, changes: steps.map(({ description }) => description) });
  else say(resultOf(steps.length, dryRun));
  return plan;
}

async function change(context: Context, { path, steps }: PlannedPrompt): Promise<void> {
  const source = steps.length > 0 ? await findSource(path) : null;
  for (const { run } of steps) await run(context, source);
}

function resultOf(changes: number, dryRun: boolean): string {
  if (changes === 0) return "Nothing to do: the prompts are as the files say.";
  return dryRun ? `Dry run, nothing was changed: ${changes} changes.` : `Made ${changes} changes.`;
}

/** Asks a person; without a terminal nobody can agree. */
export async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} [y/N] `).finally(() => terminal.close());
  return /^y(?:es)?$/i.test(answer.trim());
}
