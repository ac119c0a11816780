import type { Context } from "../../context.ts";
import { quoted } from "../../errors.ts";
import { diffVersions } from "../../prompts/diff.ts";
import { printJson, printLines } from "../printing.ts";
import { formatLine } from "../prompts/diffPrompt.ts";
import { say } from "../workspace.ts";
import { compareWithLogs, linesOf } from "./againstLogs.ts";
import { type PlannedPrompt, planFolder } from "./promptFolder.ts";
import { contentFor, type Difference, storedAlone } from "./promptPlan.ts";

export interface CheckPromptsOptions {
  againstLogs?: number;
  json?: true;
}

/** Reports what the files of a folder and Gabbro do not have alike; returns whether there is anything. */
export async function checkPrompts(
  context: Context,
  folder: string,
  { againstLogs, json }: CheckPromptsOptions,
): Promise<"same" | "differs"> {
  const { prompts, differences } = await compare(context, folder);
  const comparisons = againstLogs
    ? await Array.fromAsync(prompts, (prompt) => compareWithLogs(context, prompt, againstLogs))
    : [];
  const found = comparisons.filter((comparison) => comparison !== null);
  if (json) await printJson({ differences, ...(againstLogs && { againstLogs: found }) });
  else {
    report(differences);
    for (const line of found.flatMap(linesOf)) say(line);
  }
  return differences.length === 0 ? "same" : "differs";
}

/** Prints the differences, and those of texts as a unified diff, from Gabbro to the files. */
export async function diffPrompts(context: Context, folder: string, json?: true): Promise<void> {
  const { prompts, differences } = await compare(context, folder);
  const diffs = prompts.map((prompt) => [...textDiffs(prompt)].join("").trimEnd()).filter(Boolean);
  if (json) return printJson({ differences, diffs });
  report(differences);
  for (const diff of diffs) await printLines(diff.split("\n").map(formatLine));
}

async function compare(context: Context, folder: string) {
  const { prompts, withoutFile } = await planFolder(context, folder, "may differ");
  const alone = withoutFile.map(({ slug }): Difference => {
    return { where: "only in Gabbro", subject: `prompt ${quoted(slug)}` };
  });
  return { prompts, differences: [...prompts.flatMap(differencesOf), ...alone] };
}

function differencesOf({ steps, conflicts, file, stored }: PlannedPrompt): Difference[] {
  if (!stored) return steps.slice(0, 1).map(onlyDifference); // the prompt itself
  return [
    ...steps.map(onlyDifference),
    ...conflicts.map(({ subject }): Difference => ({ where: "differs", subject })),
    ...storedAlone(file, stored),
  ];
}

const onlyDifference = ({ where, subject }: Difference): Difference => ({ where, subject });

function report(differences: Difference[]): void {
  for (const { where, subject } of differences) say(`${where}: ${subject}`);
  if (differences.length === 0) say("The files and Gabbro have the same prompts.");
}

/** The diff of each version that differs, and that of each new version from the newest stored one. */
function* textDiffs({ path, file, stored, conflicts }: PlannedPrompt): Generator<string | undefined> {
  const differing = new Set(conflicts.map(({ version }) => version));
  const byName = new Map(stored?.versions.map((each) => [each.version, each]));
  for (const input of file.versions ?? []) {
    const isNew = !byName.has(input.version);
    const before = isNew ? stored?.versions.at(-1) : byName.get(input.version);
    const after = contentFor(input, () => {}); // its errors are reported before
    if (!after || !before || (!isNew && !differing.has(input.version))) continue;
    yield* diffVersions(
      { ...before, version: `Gabbro/${file.slug}/${before.version}` },
      { ...after, version: `${path}/${after.version}` },
    );
  }
}
