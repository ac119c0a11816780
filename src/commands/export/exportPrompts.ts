import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../context.ts";
import { toPromptYaml } from "../../formats/promptFile.ts";
import { createPrivateFolder } from "../../privateFiles.ts";
import { promptContents } from "../../prompts/content.resolvers.ts";
import { findFile, writeFileWhole } from "../output.ts";
import { printJson } from "../printing.ts";
import { say, warn } from "../workspace.ts";

/** Writes a file for every prompt. Files with the same content are not touched, and none is removed. */
export async function exportPrompts(
  context: Context,
  folder: string,
  { json }: { json?: true },
): Promise<void> {
  const prompts = await promptContents(context);
  await createPrivateFolder(folder);
  const names = new Set(await readdir(folder));
  const changed: { path: string; text: string }[] = [];
  for (const prompt of prompts) {
    const path = join(folder, fileNameFor(prompt.slug, names));
    const text = toPromptYaml(prompt);
    const isSame = (await findFile(path)) !== null && (await readFile(path, "utf8")) === text;
    if (!isSame) changed.push({ path, text });
  }
  for (const { path, text } of changed) await writeFileWhole(path, [text]);
  const unchanged = prompts.length - changed.length;
  if (json)
    await printJson({ folder, prompts: prompts.length, written: changed.map(({ path }) => path), unchanged });
  else
    say(`${prompts.length} prompts in ${folder}: ${changed.length} files written, ${unchanged} unchanged.`);
  const own = new Set(prompts.map(({ slug }) => fileNameFor(slug, names)));
  const others = [...names].filter((name) => /\.ya?ml$/.test(name) && !own.has(name));
  if (others.length > 0)
    warn(`No prompt of this workspace has the slug of: ${others.toSorted().join(", ")}.`);
}

/** The file of a prompt in a folder with files of these names: SLUG.yaml, unless there is SLUG.yml alone. */
export function fileNameFor(slug: string, names: Set<string>): string {
  const hasShort = names.has(`${slug}.yml`) && !names.has(`${slug}.yaml`);
  return hasShort ? `${slug}.yml` : `${slug}.yaml`;
}
