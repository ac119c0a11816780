import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { addCopyCommand } from "./commands/database/copy.ts";
import { addDatabaseCommands } from "./commands/database/database.ts";
import { addMigrateCommand } from "./commands/database/migrate.ts";
import { addRemapCommand } from "./commands/database/remap.ts";
import { addDatasetCommands } from "./commands/datasets/datasets.ts";
import { addDoctorCommand } from "./commands/doctor/doctor.ts";
import { complain, configureErrors, pointToHelp, reportEnd } from "./commands/errors.ts";
import { addExportCommands } from "./commands/export/export.ts";
import { addImportCommands } from "./commands/import/import.ts";
import { addLogsCommand } from "./commands/logs/logs.ts";
import { examples } from "./commands/options.ts";
import { addGitCommands } from "./commands/promptFiles/gitPrompts.ts";
import { addPromptCommands } from "./commands/prompts/prompts.ts";
import { addHealthCommand } from "./commands/service/health.ts";
import { addUsageCommand } from "./commands/usage/usage.ts";
import { addTokenCommands } from "./commands/workspaces/tokens.ts";
import { addWorkspaceCommands } from "./commands/workspaces/workspaces.ts";
import { loadConfig } from "./config.ts";

const MORE_HELP = `
Settings are environment variables: DATABASE_URL (sqlite:data/gabbro.sqlite unless set), HOST, PORT (3001) and others.
Exit codes: 0 it is done, 1 it failed, 2 the command line is wrong.
${examples("serve", "prompt list", "token create --name ci --scopes read", "import dataset --help")}`;

/** Runs a command to its end. What failed is reported, and shows in the exit code of the process. */
export async function runCommandLine(args: string[]): Promise<void> {
  try {
    await createProgram().parseAsync(withCommand(args), { from: "user" });
  } catch (error) {
    process.exitCode = reportEnd(error);
  }
}

/** All commands. A program parses one command line: the parser keeps its options. */
export function createProgram(): Command {
  const program = configureErrors(new Command("gabbro"))
    .description("The open prompt and dataset service that teams run themselves.")
    .usage("<command> [options]")
    .enablePositionalOptions() // a --version after a command is the command's option
    .version(packageJson.version);

  program.commandsGroup("Service:");
  program
    .command("serve")
    .description(
      "run the service (also without a command); on a new database also make a workspace, a sample and an access token",
    )
    .option("--empty", "leave the sample out of a new database")
    .addHelpText("after", examples("serve", "serve --empty"))
    .action(async ({ empty }: { empty?: true }) => {
      const { serve } = await import("./commands/service/serve.ts");
      await serve(loadConfig(), empty ? "empty" : "with sample");
    });
  addHealthCommand(program);
  addDoctorCommand(program);
  addTokenCommands(program);
  addWorkspaceCommands(program);
  program.commandsGroup("Data:");
  addPromptCommands(program);
  addDatasetCommands(program);
  addLogsCommand(program);
  addUsageCommand(program);
  addImportCommands(program);
  addExportCommands(program);
  program.commandsGroup("Prompts in git:");
  addGitCommands(program);
  program.commandsGroup("Database:");
  addMigrateCommand(program);
  addDatabaseCommands(program);
  addRemapCommand(program);
  addCopyCommand(program);
  program
    .addHelpCommand(
      new Command("help").argument("[command]").description("show the help of a command").helpGroup("Help:"),
    )
    .addHelpText("after", MORE_HELP);
  pointToHelp(program);
  return program;
}

/** Serves without a command, as it always did, but says how to get help. */
function withCommand(args: string[]): string[] {
  const [first = ""] = args;
  const isOfProgram = /^(?!-)./.test(first) || ["-h", "--help", "-V", "--version"].includes(first);
  if (isOfProgram) return args;
  complain('gabbro: no command given, so this runs "gabbro serve". "gabbro --help" lists the commands.\n');
  return ["serve", ...args];
}
