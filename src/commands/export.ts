import { type Command, InvalidArgumentError, Option } from "commander";
import { parseTimestamp } from "../validation/dateTime.ts";
import type { ExportDatasetOptions } from "./exportDataset.ts";
import type { ExportLogsOptions } from "./exportLogs.ts";
import { formatOption } from "./import.ts";
import { withWorkspace, workspaceOption } from "./workspace.ts";

type Given<Options> = Options & { workspace: string };

/** The commands that write data out. What they need is loaded when they run, so that the service starts without it. */
export function addExportCommands(program: Command): void {
  const exporting = program.command("export").description("write datasets, logs and prompts to files");

  exporting
    .command("dataset")
    .description("write a dataset, so that `import dataset` makes the same of it")
    .argument("<slug>", "the slug of the dataset")
    .option("--output <file>", "the file to write; else the standard output")
    .addOption(formatOption("what to write; else the ending of the file tells, else jsonl"))
    .addOption(workspaceOption())
    .action((slug: string, { workspace, ...options }: Given<ExportDatasetOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { exportDataset } = await import("./exportDataset.ts");
        await exportDataset(context, slug, options);
      }),
    );

  exporting
    .command("logs")
    .description("write the logs of calls that began in a period, the oldest first")
    .option("--from <time>", "the first moment, such as 2026-11-01 or 2026-11-01T09:30:00Z", parseTime, null)
    .option("--to <time>", "the first moment that is not in it any more", parseTime, null)
    .addOption(new Option("--format <format>", "what to write").choices(["jsonl", "csv"]).default("jsonl"))
    .option("--output <file>", "the file to write; else the standard output")
    .addOption(workspaceOption())
    .action(({ workspace, ...options }: Given<ExportLogsOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { exportLogs } = await import("./exportLogs.ts");
        await exportLogs(context, options);
      }),
    );

  exporting
    .command("prompts")
    .description("write every prompt to a YAML file of its own, SLUG.yaml, to keep in git")
    .argument("<folder>", "the folder; it is made when missing")
    .addOption(workspaceOption())
    .action((folder: string, { workspace }: { workspace: string }) =>
      withWorkspace(workspace, async (context) => {
        const { exportPrompts } = await import("./exportPrompts.ts");
        await exportPrompts(context, folder);
      }),
    );
}

function parseTime(value: string): Date {
  const moment = parseTimestamp(value);
  if (!moment) throw new InvalidArgumentError("It is not an existing time in ISO 8601.");
  return moment;
}
