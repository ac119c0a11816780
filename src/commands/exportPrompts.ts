import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../context.ts";
import { toPromptYaml } from "../files/promptFile.ts";
import { promptContents } from "../prompts/content.resolvers.ts";
import { say } from "./workspace.ts";

/** Writes a file for every prompt; files that say the same already are not touched, and none is removed. */
export async function exportPrompts(context: Context, folder: string): Promise<void> {
  const prompts = await promptContents(context);
  await mkdir(folder, { recursive: true });
  let written = 0;
  for (const prompt of prompts) {
    const path = join(folder, `${prompt.slug}.yaml`);
    const text = toPromptYaml(prompt);
    if ((await readFile(path, "utf8").catch(() => null)) === text) continue;
    await writeFile(path, text);
    written++;
  }
  say(
    `${prompts.length} prompts in ${folder}: ${written} files written, ${prompts.length - written} unchanged.`,
  );
  const slugs = new Set(prompts.map(({ slug }) => `${slug}.yaml`));
  const others = (await readdir(folder)).filter((name) => name.endsWith(".yaml") && !slugs.has(name));
  if (others.length > 0)
    process.stderr.write(`No prompt of this workspace has the slug of: ${others.toSorted().join(", ")}.\n`);
}
