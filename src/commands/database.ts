import { type Command, InvalidArgumentError } from "commander";
import { loadConfig } from "../config.ts";
import { backUp, restore } from "../database/backup.ts";
import { countTracesBefore, pruneTraces } from "../logs/prune.resolvers.ts";
import { addSample } from "../sample/sample.ts";
import { getWorkspaceId } from "../workspaces/resolvers.ts";
import { say, withDatabase, withWorkspace, workspaceOption } from "./workspace.ts";

/** The commands that fill, copy and clear the database. */
export function addDatabaseCommands(program: Command): void {
  program
    .command("sample")
    .description("add the sample: a dataset and two prompts")
    .addOption(workspaceOption())
    .action(({ workspace }: { workspace: string }) =>
      withDatabase(async (database) => {
        await addSample(database, await getWorkspaceId(database, workspace));
        say(
          `The workspace "${workspace}" has the dataset country-quiz and the prompts country-guide and flag-describer.`,
        );
      }),
    );

  program
    .command("backup")
    .description("copy the database into a file, while the service goes on")
    .argument("<file>", "the file to make")
    .action((file: string) =>
      withDatabase(async (database) => {
        await backUp(database, file);
        say(`Backed up to ${file}.`);
      }),
    );

  program
    .command("restore")
    .description("make the database out of a backup; there must not be one yet")
    .argument("<file>", "the backup")
    .action(async (file: string) => {
      await restore(file, loadConfig().databaseUrl);
      say("Restored. Start the service.");
    });

  program
    .command("prune")
    .description("remove old traces with their logs")
    .requiredOption("--older-than <age>", "such as 90d, 12w or 36h", parseAge)
    .option("--dry-run", "only say how many there are")
    .addOption(workspaceOption())
    .action(({ workspace, olderThan, dryRun }: { workspace: string; olderThan: Date; dryRun?: true }) =>
      withWorkspace(workspace, async (context) => {
        const before = olderThan.toISOString();
        if (dryRun) say(`${await countTracesBefore(context, olderThan)} traces began before ${before}.`);
        else say(`Removed ${await pruneTraces(context, olderThan)} traces that began before ${before}.`);
      }),
    );
}

const hoursIn: Record<string, number> = { h: 1, d: 24, w: 7 * 24 };
const MS_IN_AN_HOUR = 3_600_000;

/** The time that lies an age such as `90d` back. */
function parseAge(age: string): Date {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(age) ?? [];
  if (!count || !unit) throw new InvalidArgumentError("It must be a number with h, d or w behind it.");
  return new Date(Date.now() - Number(count) * hoursIn[unit]! * MS_IN_AN_HOUR);
}
