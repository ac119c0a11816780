import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { addCopyCommand } from "./commands/copy.ts";
import { addDatabaseCommands } from "./commands/database.ts";
import { addExportCommands } from "./commands/export.ts";
import { addImportCommands } from "./commands/import.ts";
import { addTokenCommands, addWorkspaceCommands } from "./commands/tokens.ts";
import { say } from "./commands/workspace.ts";
import { loadConfig } from "./config.ts";
import { migrate } from "./database/migrate.ts";
import { openDatabase } from "./database/open.ts";
import { printableLines } from "./printable.ts";

const program = new Command("gabbro")
  .description("The open prompt and dataset service that teams run themselves.")
  .version(packageJson.version)
  .configureOutput({ writeErr: complain });

program
  .command("serve", { isDefault: true })
  .description("run the service; on a new database also make a workspace, a sample and an access token")
  .option("--empty", "leave the sample out of a new database")
  .action(async ({ empty }: { empty?: true }) => {
    const { serve } = await import("./commands/serve.ts");
    await serve(loadConfig(), empty ? "empty" : "with sample");
  });

program
  .command("migrate")
  .description("bring the database to the schema of this version")
  .action(async () => {
    const database = await openDatabase(loadConfig().databaseUrl);
    const applied = await migrate(database).finally(() => database.close());
    say(applied.length > 0 ? `Applied: ${applied.join(", ")}` : "Nothing to do.");
  });

addDatabaseCommands(program);
addCopyCommand(program);
addImportCommands(program);
addExportCommands(program);
addTokenCommands(program);
addWorkspaceCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  complain(`gabbro: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

function complain(lines: string): void {
  process.stderr.write(printableLines(lines));
}
