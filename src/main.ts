import { Command, InvalidArgumentError, Option } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { loadConfig } from "./config.ts";
import { type Context, type Scope, scopes } from "./context.ts";
import { backUp, restore } from "./database/backup.ts";
import { bringUpToDate, migrate } from "./database/migrate.ts";
import { type Database, missingDatabase, openDatabase } from "./database/open.ts";
import { FIRST_WORKSPACE } from "./firstStart.ts";
import { parseMoment } from "./inputs.ts";
import { countTracesBefore, pruneTraces } from "./monitor/prune.resolvers.ts";
import { addSample } from "./sample/sample.ts";
import {
  commandLineContext,
  createWorkspace,
  getWorkspaceId,
  listWorkspaces,
} from "./workspaces/resolvers.ts";
import { accessTokens, createAccessToken, revokeAccessToken } from "./workspaces/tokens.resolvers.ts";

const program = new Command("gabbro")
  .description("The open prompt and dataset service that teams run themselves.")
  .version(packageJson.version);

program
  .command("serve", { isDefault: true })
  .description("run the service; on a new database also make a workspace, a sample and an access token")
  .option("--empty", "leave the sample out of a new database")
  .action(async ({ empty }: { empty?: true }) => {
    const { serve } = await import("./serve.ts");
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

const token = program.command("token").description("make, list and revoke access tokens");

token
  .command("create")
  .description("make an access token and show it, once")
  .requiredOption("--name <name>", "what it is for, to tell it from others", parseName)
  .addOption(workspaceOption())
  .addOption(
    new Option("--scopes <scopes>", `what it may do: ${scopes.join(", ")}, with commas between`)
      .argParser(parseScopes)
      .default(["read", "write"], "read,write"),
  )
  .option("--expires <time>", "when it ends, such as 2027-01-31 or 2027-01-31T09:30:00Z", parseExpiry)
  .action((options: { name: string; workspace: string; scopes: Scope[]; expires?: Date }) =>
    withWorkspace(options.workspace, async (context) => {
      const { name, scopes, expires: expiresAt = null } = options;
      say((await createAccessToken(context, { name, scopes, expiresAt })).token);
    }),
  );

token
  .command("list")
  .description("list the access tokens of a workspace, without their secrets")
  .addOption(workspaceOption())
  .action(({ workspace }: { workspace: string }) =>
    withWorkspace(workspace, async (context) => {
      for (const listed of await accessTokens(context)) {
        const { id, name, scopes, createdAt, lastUsedAt } = listed;
        say(
          [
            id,
            name,
            scopes.join(","),
            stateOf(listed),
            `made ${createdAt.toISOString()}`,
            lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : "never used",
          ].join("  "),
        );
      }
    }),
  );

token
  .command("revoke")
  .description("end an access token; a running server follows within 30 seconds")
  .argument("<id>", "the id that `token list` shows", parseId)
  .addOption(workspaceOption())
  .action((id: string, { workspace }: { workspace: string }) =>
    withWorkspace(workspace, async (context) => {
      await revokeAccessToken(context, { id });
      say(`Revoked ${id}.`);
    }),
  );

const workspaces = program.command("workspace").description("make and list workspaces");

workspaces
  .command("create")
  .description("make a workspace; make a token in it with: gabbro token create --workspace NAME --name NAME")
  .argument("<name>", "its name", parseName)
  .action((name: string) =>
    withDatabase(async (database) => {
      await createWorkspace(database, name);
      say(`Made the workspace "${name}".`);
    }),
  );

workspaces
  .command("list")
  .description("list the workspaces")
  .action(() =>
    withDatabase(async (database) => {
      for (const { name, createdAt } of await listWorkspaces(database))
        say(`${name}  made ${createdAt.toISOString()}`);
    }),
  );

/** Runs a command in a workspace of the database of the configuration. */
async function withWorkspace(name: string, run: (context: Context) => Promise<void>): Promise<void> {
  await withDatabase(async (database) =>
    run(commandLineContext(database, await getWorkspaceId(database, name))),
  );
}

/** Runs a command on the migrated database of the configuration, which the service must have made before. */
async function withDatabase(run: (database: Database) => Promise<void>): Promise<void> {
  const config = loadConfig();
  const { databaseUrl } = config;
  const missing = missingDatabase(databaseUrl);
  if (missing) {
    throw new Error(
      `There is no database at ${missing}. Start the service first, or say where it is with DATABASE_URL.`,
    );
  }
  const database = await openDatabase(databaseUrl, config);
  try {
    await bringUpToDate(database, config);
    await run(database);
  } finally {
    await database.close();
  }
}

function workspaceOption(): Option {
  return new Option("--workspace <name>", "the workspace").default(FIRST_WORKSPACE);
}

function parseName(name: string): string {
  if (name.trim() === "" || /\p{Cc}/u.test(name))
    throw new InvalidArgumentError("It must be a text on one line.");
  return name;
}

function parseId(id: string): string {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id))
    throw new InvalidArgumentError("It must be an id that `token list` shows.");
  return id.toLowerCase();
}

function parseScopes(list: string): Scope[] {
  const named = list.split(",").map((scope) => scope.trim());
  const unknown = named.find((scope) => !scopes.includes(scope as Scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is not one of ${scopes.join(", ")}.`);
  return [...new Set(named as Scope[])];
}

const hoursIn: Record<string, number> = { h: 1, d: 24, w: 7 * 24 };
const MS_IN_AN_HOUR = 3_600_000;

/** The time that lies an age such as `90d` back. */
function parseAge(age: string): Date {
  const [, count, unit] = /^(\d{1,5})([hdw])$/.exec(age) ?? [];
  if (!count || !unit) throw new InvalidArgumentError("It must be a number with h, d or w behind it.");
  return new Date(Date.now() - Number(count) * hoursIn[unit]! * MS_IN_AN_HOUR);
}

function parseExpiry(value: string): Date {
  const moment = parseMoment(value);
  if (!moment) throw new InvalidArgumentError("It is not an existing time in ISO 8601.");
  if (moment <= new Date()) throw new InvalidArgumentError("It is in the past.");
  return moment;
}

function stateOf({ revokedAt, expiresAt }: { revokedAt: Date | null; expiresAt: Date | null }): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`;
  if (!expiresAt) return "never expires";
  return `${expiresAt <= new Date() ? "expired" : "expires"} ${expiresAt.toISOString()}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`gabbro: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
