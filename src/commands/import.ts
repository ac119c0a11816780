import { type Command, Option } from "commander";
import type { ImportDatasetOptions } from "./importDataset.ts";
import { keepMemorySmall } from "./memory.ts";
import { parseName, withWorkspace, workspaceOption } from "./workspace.ts";

/** The commands that bring data in. What they need is loaded when they run, so that the service starts without it. */
export function addImportCommands(program: Command): void {
  const importing = program.command("import").description("bring datasets and prompts in from files");

  importing
    .command("dataset")
    .description("put the rows of a file into a dataset; a new one takes its columns from the file")
    .argument("<file>", "CSV, JSON or JSON Lines")
    .requiredOption("--slug <slug>", "the slug of the dataset")
    .option("--name <name>", "the name of a new dataset; else the file's, else the slug", parseName)
    .option(
      "--key <column>",
      "the column that tells rows apart: a row that is there already is changed, not added",
    )
    .addOption(formatOption())
    .option("--dry-run", "store nothing, only say what would be done")
    .addOption(workspaceOption())
    .action(
      (
        file: string,
        { workspace, ...options }: Omit<ImportDatasetOptions, "tidy"> & { workspace: string },
      ) => {
        const tidy = keepMemorySmall();
        return withWorkspace(workspace, async (context) => {
          const { importDataset } = await import("./importDataset.ts");
          await importDataset(context, file, { ...options, tidy });
        });
      },
    );
}

export function formatOption(): Option {
  return new Option("--format <format>", "what the file is; else its ending tells").choices([
    "csv",
    "json",
    "jsonl",
  ]);
}
