import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import { quoted } from "../errors.ts";
import { fromPromptYaml } from "../formats/promptFile.ts";
import { printable } from "../printable.ts";
import { promptContents } from "../prompts/content.resolvers.ts";
import { printJson } from "./printing.ts";
import { planPrompt, type Step } from "./promptPlan.ts";
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
  const steps = await planFolder(context, folder);
  if (json) {
    if (!dryRun) for (const { run } of steps) await run(context);
    return printJson({ dryRun, changes: steps.map(({ description }) => description) });
  }
  if (steps.length === 0) return say("Nothing to do: the prompts are as the files say.");
  for (const { description } of steps) say(description);
  if (dryRun) return say(`Dry run, nothing was changed: ${steps.length} changes.`);
  if (!yes && !(await isAgreed())) throw new Error("Nothing was changed. To make these changes, say --yes.");
  for (const { run } of steps) await run(context);
  say(`Made ${steps.length} changes.`);
}

/** Validates all files before anything is changed, and reports every error with its file and line. */
async function planFolder(context: Context, folder: string): Promise<Step[]> {
  const names = await readdir(folder).catch(() => {
    throw new Error(`There is no folder ${folder}.`);
  });
  const files = names.filter((name) => /\.ya?ml$/.test(name)).toSorted();
  if (files.length === 0) throw new Error(`There is no file in ${folder} that ends with .yaml or .yml.`);
  const stored = new Map((await promptContents(context)).map((prompt) => [prompt.slug, prompt]));
  const steps: Step[] = [];
  const details: string[] = [];
  const fileOf = new Map<string, string>();
  for (const name of files) {
    const path = join(folder, name);
    const { prompt, details: fileErrors, lineOf } = await readPrompt(path);
    const errors = [...fileErrors];
    if (prompt) {
      const { slug } = prompt;
      const other = fileOf.get(slug);
      if (other)
        errors.push({
          line: lineOf(["slug"]),
          message: `the slug ${quoted(slug)} stands in ${other} too`,
        });
      fileOf.set(slug, path);
      const plan = planPrompt(prompt, stored.get(slug), lineOf);
      errors.push(...plan.details);
      steps.push(...plan.steps);
    }
    details.push(
      ...errors.map(({ line, message }) => printable(`${path}, line ${line}: ${shorten(message)}`)),
    );
  }
  if (details.length > 0)
    throw new Error(["Nothing was changed, because the files have errors:", ...cut(details)].join("\n  "));
  return steps;
}

const MAX_ERRORS = 100;

function cut(details: string[]): string[] {
  const more = details.length - MAX_ERRORS;
  return more > 0 ? [...details.slice(0, MAX_ERRORS), `… and ${more.toLocaleString("en")} more.`] : details;
}

const MAX_MESSAGE_CHARACTERS = 400;

function shorten(message: string): string {
  return message.length > MAX_MESSAGE_CHARACTERS ? `${message.slice(0, MAX_MESSAGE_CHARACTERS)}…` : message;
}

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Reads and validates one file. The YAML library may reject it as a whole: too deep, or with too many aliases. */
async function readPrompt(path: string): Promise<ReturnType<typeof fromPromptYaml>> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error(`${printable(path)} is not a file.`);
  if (stats.size > MAX_FILE_BYTES) throw new Error(`${printable(path)} is larger than 64 MB.`);
  const text = await readFile(path, "utf8");
  try {
    return fromPromptYaml(text);
  } catch (cause) {
    throw new Error(`${printable(path)} cannot be read: ${shorten((cause as Error).message)}.`, { cause });
  }
}

async function isAgreed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question("Make these changes? [y/N] ").finally(() => terminal.close());
  return /^y(?:es)?$/i.test(answer.trim());
}
