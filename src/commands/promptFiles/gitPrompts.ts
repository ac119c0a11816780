import { type Command, CommanderError, InvalidArgumentError } from "commander";
import type { ImportPromptsOptions } from "../import/importPrompts.ts";
import { countOption, examples, jsonOption } from "../options.ts";
import { withWorkspace, workspaceOption } from "../workspace.ts";
import type { CheckPromptsOptions } from "./checkPrompts.ts";

type WithWorkspace<Options> = Options & { workspace: string };

const FOLDER = "the folder, with a YAML file for each prompt, SLUG.yaml";
const CHECK_HELP = `
Exit codes: 0 they are the same, 1 they differ, 2 they cannot be compared, such as for an error in a file.
${examples("check prompts/", "check prompts/ --against-logs 200")}`;

/** The commands for prompts that are kept in git. What they need is loaded when they run. */
export function addGitCommands(program: Command): void {
  addTransferCommands(program);

  program
    .command("diff")
    .description("show what a push would change in the prompts, and what only Gabbro has")
    .argument("<folder>", FOLDER)
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("diff prompts/"))
    .action((folder: string, { workspace, json }: WithWorkspace<{ json?: true }>) =>
      withWorkspace(workspace, async (context) => {
        const { diffPrompts } = await import("./checkPrompts.ts");
        await diffPrompts(context, folder, json);
      }),
    );

  program
    .command("check")
    .description("report whether a folder and Gabbro have the same prompts")
    .argument("<folder>", FOLDER)
    .addOption(
      countOption("--against-logs <count>", "render new texts with the variables of the last logs, so many"),
    )
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", CHECK_HELP)
    .action(async (folder: string, { workspace, ...options }: WithWorkspace<CheckPromptsOptions>) => {
      await orRefuse(() =>
        withWorkspace(workspace, async (context) => {
          const { checkPrompts } = await import("./checkPrompts.ts");
          if ((await checkPrompts(context, folder, options)) === "differs") process.exitCode = 1;
        }),
      );
    });
}

function addTransferCommands(program: Command): void {
  program
    .command("pull")
    .description("write the prompts to the files of a folder")
    .argument("<folder>", FOLDER)
    .option("--yes", "overwrite without asking what only the files have")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("pull prompts/"))
    .action((folder: string, { workspace, ...options }: WithWorkspace<{ yes?: true; json?: true }>) =>
      withWorkspace(workspace, async (context) => {
        const { pullPrompts } = await import("./pullAndPush.ts");
        await pullPrompts(context, folder, options);
      }),
    );

  program
    .command("push")
    .description("change the prompts to what the files say, after saying what would change")
    .argument("<folder>", FOLDER)
    .option("--yes", "change it without asking")
    .option("--dry-run", "change nothing, only say what would change")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("push prompts/ --dry-run", "push prompts/ --yes"))
    .action((folder: string, { workspace, ...options }: WithWorkspace<ImportPromptsOptions>) =>
      withWorkspace(workspace, async (context) => {
        const { pushPrompts } = await import("./pullAndPush.ts");
        await pushPrompts(context, folder, options);
      }),
    );
}

/** Makes every error end with 2, as a usage error does: 1 means that there is a difference. */
async function orRefuse(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof CommanderError) throw error;
    throw new InvalidArgumentError((error as Error).message);
  }
}
