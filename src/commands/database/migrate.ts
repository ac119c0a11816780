import type { Command } from "commander";
import { FIRST_WORKSPACE } from "../../workspaces/firstWorkspace.ts";
import { examples, jsonOption } from "../options.ts";
import { printJson } from "../printing.ts";
import { say } from "../workspace.ts";

/** The command that prepares a database for the service, or for commands before its first start. */
export function addMigrateCommand(program: Command): void {
  program
    .command("migrate")
    .description("bring the database to the schema of this version; a new one also gets a workspace")
    .option("--no-backup", "do not copy the database first")
    .addOption(jsonOption())
    .addHelpText("after", examples("migrate"))
    .action(async ({ backup: wantsBackup, json }: { backup: boolean; json?: true }) => {
      const { loadConfig } = await import("../../config.ts");
      const { migrate, migrateWithBackup } = await import("../../database/migrate.ts");
      const { openDatabase } = await import("../../database/open.ts");
      const { entities } = await import("../../entities.ts");
      const { addFirstWorkspace } = await import("../../sample/seed.ts");
      const database = await openDatabase(loadConfig().databaseUrl, entities);
      try {
        const { applied, backup } = wantsBackup
          ? await migrateWithBackup(database)
          : { applied: await migrate(database), backup: null };
        const isNew = await addFirstWorkspace(database);
        if (json) return await printJson({ applied, backup, workspace: isNew ? FIRST_WORKSPACE : null });
        if (backup) say(`Copied the database to ${backup}.`);
        if (applied.length > 0) say(`Applied: ${applied.join(", ")}`);
        if (isNew) say(`Made the workspace "${FIRST_WORKSPACE}".`);
        if (applied.length === 0 && !isNew) say("Nothing to do.");
      } finally {
        await database.close();
      }
    });
}
