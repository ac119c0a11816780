import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Context } from "../../context.ts";
import { quoted } from "../../errors.ts";
import { exportPrompts, fileNameFor } from "../export/exportPrompts.ts";
import { type ImportPromptsOptions, importPrompts, isAgreed } from "../import/importPrompts.ts";
import { say, warn } from "../workspace.ts";
import { planFolder } from "./promptFolder.ts";
import { storedAlone } from "./promptPlan.ts";

/** Writes the prompts to the files of a folder. Asks first when the files have something that this would overwrite. */
export async function pullPrompts(
  context: Context,
  folder: string,
  { yes, json }: { yes?: true; json?: true },
): Promise<void> {
  const losses = yes ? [] : await lossesIn(context, folder);
  for (const loss of losses) warn(`would be lost: ${loss}`);
  if (losses.length > 0 && !(await isAgreed("Overwrite the files?")))
    throw new Error("Nothing was written. Push what the files have, or overwrite it with --yes.");
  await exportPrompts(context, folder, json ? { json } : {});
}

/** What the files have that a pull would write, and Gabbro does not. A file may have another slug than its name says. */
async function lossesIn(context: Context, folder: string): Promise<string[]> {
  const names = new Set(await readdir(folder).catch(() => []));
  if (![...names].some((name) => /\.ya?ml$/.test(name))) return [];
  const { prompts, withoutFile } = await planFolder(context, folder, "may differ");
  const written = new Set(
    [...prompts.flatMap(({ stored }) => stored ?? []), ...withoutFile].map(({ slug }) =>
      join(folder, fileNameFor(slug, names)),
    ),
  );
  return prompts
    .filter(({ path }) => written.has(path))
    .flatMap(({ steps, conflicts }) => [...steps, ...conflicts].map(({ subject }) => subject));
}

/** Changes the prompts to what the files of a folder say, and reports what only Gabbro has. */
export async function pushPrompts(
  context: Context,
  folder: string,
  options: ImportPromptsOptions,
): Promise<void> {
  const { prompts, withoutFile } = await importPrompts(context, folder, options);
  if (options.json) return;
  const alone = prompts.flatMap(({ file, stored }) => (stored ? storedAlone(file, stored) : []));
  for (const { where, subject } of alone) say(`${where}: ${subject}`);
  for (const { slug } of withoutFile) say(`only in Gabbro: prompt ${quoted(slug)}`);
}
