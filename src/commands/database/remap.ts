import type { Command } from "commander";
import type { Context } from "../../context.ts";
import type { Remapping } from "../../logs/remap.resolvers.ts";
import { examples, jsonOption } from "../options.ts";
import { formatCount, printJson } from "../printing.ts";
import { parsePastTime } from "../times.ts";
import { say, withWorkspace, workspaceOption } from "../workspace.ts";

const HELP = examples("remap --from 30d --to 1h --dry-run", "remap --from 2026-10-01 --to 2026-11-01");

/** The command that maps stored spans again. */
export function addRemapCommand(program: Command): void {
  const time = "an age such as 12h or 30d, or a time";
  program
    .command("remap")
    .description("map stored spans again, as an update of Gabbro may read more of them")
    .requiredOption("--from <time>", `spans that began then or later: ${time}`, parsePastTime)
    .requiredOption("--to <time>", `spans that began before then: ${time}`, parsePastTime)
    .option("--dry-run", "only say what would change")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", HELP)
    .action(({ workspace, ...options }: RemapOptions & { workspace: string }) =>
      withWorkspace(workspace, (context) => remap(context, options)),
    );
}

interface RemapOptions {
  from: Date;
  to: Date;
  dryRun?: boolean;
  json?: true;
}

async function remap(context: Context, { from, to, dryRun = false, json }: RemapOptions): Promise<void> {
  const { countLogsOfPeriod } = await import("../../logs/export.resolvers.ts");
  const { remapSpans } = await import("../../logs/remap.resolvers.ts");
  const { showProgress } = await import("../progress.ts");
  const progress = showProgress(await countLogsOfPeriod(context, { from, to }));
  let result: Remapping;
  try {
    result = await remapSpans(context, { from, to, dryRun }, (logs) => progress.report(logs, logs));
  } finally {
    progress.stop();
  }
  if (json) return printJson({ from: from.toISOString(), to: to.toISOString(), ...result });
  const { examined, changed, fields } = result;
  say(`${formatCount(changed)} of ${formatCount(examined)} spans ${dryRun ? "would change" : "changed"}.`);
  for (const [field, count] of Object.entries(fields).toSorted(([, a], [, b]) => b - a))
    say(`  ${field}: ${formatCount(count)}`);
}
