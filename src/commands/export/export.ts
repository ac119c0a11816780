import { type Command, Option } from "commander";
import { formatOption } from "../import/import.ts";
import { examples, jsonOption } from "../options.ts";
import { parseTime } from "../times.ts";
import { withWorkspace, workspaceOption } from "../workspace.ts";
import type { ExportDatasetOptions } from "./exportDataset.ts";
import type { ExportLogsOptions } from "./exportLogs.ts";

type WithWorkspace<Options> = Options & { workspace: string };

/** The commands that write data out. What they need is loaded when they run, so that the service starts without it. */
export function addExportCommands(program: Command): void {
  const exporting = program.command("export").description("write datasets, logs and prompts to files");

  exporting
    .command("dataset")
    .description("write a dataset, so that `import dataset` makes the same of it")
    .argument("<slug>", "the slug of the dataset")
    .option("--output <file>", "the file to write; else the standard output")
    .option("--at <version>", "a version of the dataset; else the newest")
    .option("--tag <tag>", "a tag that names a version of the dataset")
    .addOption(formatOption("what to write; else the ending of the file decides, else jsonl"))
    .addOption(workspaceOption())
    .addHelpText(
      "after",
      examples(
        "export dataset country-quiz --format csv",
        "export dataset country-quiz --at 2 --output quiz.jsonl",
      ),
    )
    .action((slug: string, { workspace, ...options }: WithWorkspace<ExportDatasetOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { exportDataset } = await import("./exportDataset.ts");
        await exportDataset(context, slug, options);
      }),
    );

  exporting
    .command("logs")
    .description("write the logs of calls that began in a period, the oldest first")
    .addOption(timeOption("--from <time>", "calls that began then or later, such as 2026-11-01T09:30:00Z"))
    .addOption(timeOption("--to <time>", "calls that began before then"))
    .addOption(new Option("--format <format>", "what to write").choices(["jsonl", "csv"]).default("jsonl"))
    .option("--output <file>", "the file to write; else the standard output")
    .addOption(workspaceOption())
    .addHelpText("after", examples("export logs --from 2026-11-01 --to 2026-12-01 --output november.jsonl"))
    .action(({ workspace, ...options }: WithWorkspace<ExportLogsOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { exportLogs } = await import("./exportLogs.ts");
        await exportLogs(context, options);
      }),
    );

  exporting
    .command("prompts")
    .description("write every prompt to a YAML file of its own, SLUG.yaml, to keep in git")
    .argument("<folder>", "the folder; it is made when missing")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("export prompts prompts/"))
    .action((folder: string, { workspace, ...options }: WithWorkspace<{ json?: true }>) =>
      withWorkspace(workspace, async (context) => {
        const { exportPrompts } = await import("./exportPrompts.ts");
        await exportPrompts(context, folder, options);
      }),
    );
}

function timeOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseTime).default(null, "no bound");
}
