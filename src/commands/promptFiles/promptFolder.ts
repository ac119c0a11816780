import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../context.ts";
import { quoted } from "../../errors.ts";
import { fromPromptYaml, type LineError, type PromptFile } from "../../formats/promptFile.ts";
import { FileError, piecesOf } from "../../formats/text.ts";
import { printable } from "../../printable.ts";
import { type PromptContent, promptContents } from "../../prompts/content.resolvers.ts";
import { type PromptPlan, planPrompt } from "./promptPlan.ts";

/** A prompt of a folder beside the stored one: what differs, and what is stored alone. */
export interface PlannedPrompt extends PromptPlan {
  path: string;
  file: PromptFile;
  stored: PromptContent | undefined;
}

export interface FolderPlan {
  prompts: PlannedPrompt[];
  /** Stored prompts without a file. */
  withoutFile: PromptContent[];
}

/**
 * Compares the files of a folder with the prompts of the workspace. Throws an error that names every error of the files
 * with its line; versions with other content than the stored ones are errors only of an import.
 */
export async function planFolder(
  context: Context,
  folder: string,
  versions: "must be the same" | "may differ",
): Promise<FolderPlan> {
  const stored = new Map((await promptContents(context)).map((prompt) => [prompt.slug, prompt]));
  const prompts: PlannedPrompt[] = [];
  const details: string[] = [];
  const fileOf = new Map<string, string>();
  for (const path of await pathsIn(folder)) {
    const { prompt: file, details: fileErrors, lineOf } = await readPrompt(path);
    const errors = [...fileErrors];
    if (file) {
      const other = fileOf.get(file.slug);
      const message = `the slug ${quoted(file.slug)} stands in ${other} too`;
      if (other) errors.push({ line: lineOf(["slug"]), message });
      fileOf.set(file.slug, path);
      const plan = planPrompt(file, stored.get(file.slug), lineOf);
      errors.push(...plan.details, ...(versions === "may differ" ? [] : plan.conflicts.map(toError)));
      prompts.push({ ...plan, path, file, stored: stored.get(file.slug) });
    }
    details.push(
      ...errors.map(({ line, message }) => printable(`${path}, line ${line}: ${shorten(message)}`)),
    );
  }
  if (details.length > 0) throw new Error(["The files have errors:", ...cut(details)].join("\n  "));
  return { prompts, withoutFile: [...stored.values()].filter(({ slug }) => !fileOf.has(slug)) };
}

function toError({ subject, line }: PromptPlan["conflicts"][number]): LineError {
  const message = `${subject} exists with other content; versions never change: give the new one another name`;
  return { line, message };
}

async function pathsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => {
    throw new Error(`There is no folder ${folder}.`);
  });
  const files = names.filter((name) => /\.ya?ml$/.test(name)).toSorted();
  if (files.length === 0) throw new Error(`There is no file in ${folder} that ends with .yaml or .yml.`);
  return files.map((name) => join(folder, name));
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
  try {
    const pieces = await Array.fromAsync(piecesOf({ path, onRead: () => {} }));
    return fromPromptYaml(pieces.join(""));
  } catch (cause) {
    if (cause instanceof FileError) {
      const { line, reason } = cause;
      return { prompt: null, details: [{ line, message: reason }], lineOf: () => line };
    }
    throw new Error(`${printable(path)} cannot be read: ${shorten((cause as Error).message)}.`, { cause });
  }
}
