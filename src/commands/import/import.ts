import { type Command, Option } from "commander";
import { type ProductName, products } from "../../importers/importers.ts";
import { examples, jsonOption } from "../options.ts";
import { parseName, withWorkspace, workspaceOption } from "../workspace.ts";
import type { ImportDatasetOptions } from "./importDataset.ts";
import type { ImportFromOptions } from "./importFrom.ts";
import type { ImportPromptsOptions } from "./importPrompts.ts";

/** The commands that bring data in. What they need is loaded when they run, so that the service starts without it. */
export function addImportCommands(program: Command): void {
  const importing = program
    .command("import")
    .description("bring data in from files, also from those of other products");

  importing
    .command("dataset")
    .description("put the rows of a file into a dataset; a new one takes its columns from the file")
    .argument("<file>", "CSV, JSON or JSON Lines")
    .requiredOption("--slug <slug>", "the slug of the dataset")
    .option("--name <name>", "the name of a new dataset; else the file's, else the slug", parseName)
    .option("--key <column>", "the column that identifies rows: an existing row is changed, not added")
    .addOption(formatOption("what the file is; else its ending decides"))
    .option("--dry-run", "store nothing, only say what would be done")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText(
      "after",
      examples(
        "import dataset quiz.csv --slug quiz",
        "import dataset quiz.csv --slug quiz --key id --dry-run",
      ),
    )
    .action((file: string, { workspace, ...options }: ImportDatasetOptions & { workspace: string }) =>
      withWorkspace(workspace, async (context) => {
        const { importDataset } = await import("./importDataset.ts");
        await importDataset(context, file, options);
      }),
    );

  importing
    .command("prompts")
    .description("bring the prompts of a folder in, after saying what would change")
    .argument("<folder>", "the folder, with a YAML file for each prompt as `export prompts` writes them")
    .option("--yes", "change it without asking")
    .option("--dry-run", "change nothing, only say what would change")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("import prompts prompts/ --dry-run", "import prompts prompts/ --yes"))
    .action((folder: string, { workspace, ...options }: ImportPromptsOptions & { workspace: string }) =>
      withWorkspace(workspace, async (context) => {
        const { importPrompts } = await import("./importPrompts.ts");
        await importPrompts(context, folder, options);
      }),
    );
  addProductCommands(importing);
}

/** A command for each product. */
function addProductCommands(importing: Command): void {
  for (const [product, { title, files }] of Object.entries(products))
    importing
      .command(product)
      .description(`bring in what ${title} exports: ${files}`)
      .argument("<path>", "a file, or a folder with files")
      .option("--dry-run", "store nothing, only say what would be done")
      .option("--move-tags", "move tags that are here to where the source has them; else they stay")
      .addOption(jsonOption())
      .addOption(workspaceOption())
      .addHelpText("after", examples(`import ${product} export/ --dry-run`, `import ${product} export/`))
      .action((path: string, { workspace, ...options }: ImportFromOptions & { workspace: string }) =>
        withWorkspace(workspace, async (context) => {
          const { importFrom } = await import("./importFrom.ts");
          await importFrom(context, product as ProductName, path, options);
        }),
      );
}

export function formatOption(description: string): Option {
  return new Option("--format <format>", description).choices(["csv", "json", "jsonl"]);
}
