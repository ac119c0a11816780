import { type Command, InvalidArgumentError } from "commander";
import type { Context } from "../../context.ts";
import type { Database } from "../../database/open.ts";
import { examples, jsonOption } from "../options.ts";
import { printJson } from "../printing.ts";
import { timeBefore } from "../times.ts";
import { say, withDatabase, withWorkspace, workspaceOption } from "../workspace.ts";

/** The commands that fill, copy and clear the database. */
export function addDatabaseCommands(program: Command): void {
  program
    .command("sample")
    .description("add the sample: a dataset, two prompts and a month of traces; or remove it")
    .option("--remove", "remove the sample, with what was added to its dataset and its prompts")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("sample", "sample --remove"))
    .action(({ workspace, remove, json }: WithJson & { workspace: string; remove?: true }) =>
      remove
        ? withWorkspace(workspace, (context) => takeSampleAway(context, json))
        : withDatabase((database) => giveSample(database, workspace, json)),
    );

  program
    .command("backup")
    .description("copy the database into a file, while the service goes on")
    .argument("<file>", "the file to make")
    .addOption(jsonOption())
    .addHelpText("after", examples("backup backups/monday.sqlite"))
    .action((file: string, { json }: WithJson) =>
      withDatabase(async (database) => {
        const { backUp } = await import("../../database/backup.ts");
        const { entities } = await import("../../entities.ts");
        await backUp(database, file, entities);
        if (json) await printJson({ file });
        else say(`Backed up to ${file}.`);
      }),
    );

  program
    .command("restore")
    .description("make the database out of a backup; there must not be one yet")
    .argument("<backup>", "the file; on PostgreSQL the schema with the copy that an upgrade made")
    .addOption(jsonOption())
    .addHelpText("after", examples("restore backups/monday.sqlite"))
    .action(async (file: string, { json }: WithJson) => {
      const { loadConfig } = await import("../../config.ts");
      const { restore } = await import("../../database/backup.ts");
      const { entities } = await import("../../entities.ts");
      await restore(file, loadConfig().databaseUrl, entities);
      if (json) await printJson({ file });
      else say("Restored. Start the service.");
    });

  program
    .command("prune")
    .description("remove old traces with their logs")
    .requiredOption("--older-than <age>", "such as 90d, 12w or 36h", parseAge)
    .option("--dry-run", "only say how many there are")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("prune --older-than 90d --dry-run", "prune --older-than 90d"))
    .action(({ workspace, ...options }: PruneOptions & { workspace: string }) =>
      withWorkspace(workspace, (context) => prune(context, options)),
    );
}

interface WithJson {
  json?: true;
}

async function giveSample(database: Database, workspace: string, json?: true): Promise<void> {
  const { addSample } = await import("../../sample/sample.ts");
  const { getWorkspaceId } = await import("../../workspaces/resolvers.ts");
  await addSample(database, await getWorkspaceId(database, workspace));
  if (json) return printJson({ workspace });
  say(
    `The workspace "${workspace}" has the dataset country-quiz, the prompts country-guide and flag-describer, and a month of traces. Remove them with: npx gabbro sample --remove`,
  );
}

async function takeSampleAway(context: Context, json?: true): Promise<void> {
  const { removeSample } = await import("../../sample/removal.resolvers.ts");
  const traces = await removeSample(context);
  if (json) await printJson({ traces });
  else say(`Removed the sample: its dataset, its prompts and ${traces} traces.`);
}

interface PruneOptions extends WithJson {
  olderThan: Date;
  dryRun?: boolean;
}

async function prune(context: Context, { olderThan, dryRun = false, json }: PruneOptions): Promise<void> {
  const { pruneTraces } = await import("../../logs/prune.resolvers.ts");
  const before = olderThan.toISOString();
  const { traces } = await pruneTraces(context, { before: olderThan, dryRun });
  if (json) await printJson({ before, traces, dryRun });
  else if (dryRun) say(`${traces} traces began before ${before}.`);
  else say(`Removed ${traces} traces that began before ${before}.`);
}

/** The time an age such as `90d` ago. Minutes are refused: `m` meant as months would remove everything. */
function parseAge(age: string): Date {
  const time = timeBefore(age, "hdw");
  if (!time) throw new InvalidArgumentError("It must be a number with h, d or w behind it.");
  return time;
}
