import { Command, InvalidArgumentError, Option } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { loadConfig } from "./config.ts";
import { type Scope, scopes } from "./context.ts";
import { migrate } from "./database/migrate.ts";
import { type Database, openDatabase } from "./database/open.ts";
import { FIRST_WORKSPACE } from "./firstStart.ts";
import { parseMoment } from "./inputs.ts";
import { addSample } from "./sample/sample.ts";
import { createToken, getWorkspaceId, listTokens, revokeToken } from "./workspaces/resolvers.ts";

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
  .action(() =>
    withDatabase(async (_, applied) =>
      say(applied.length > 0 ? `Applied: ${applied.join(", ")}` : "Nothing to do."),
    ),
  );

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

const token = program.command("token").description("make, list and revoke access tokens");

token
  .command("create")
  .description("make an access token and show it, once")
  .requiredOption("--name <name>", "what it is for, to tell it from others")
  .addOption(workspaceOption())
  .addOption(
    new Option("--scopes <scopes>", `what it may do: ${scopes.join(", ")}, with commas between`)
      .argParser(parseScopes)
      .default([...scopes], scopes.join(",")),
  )
  .option("--expires <time>", "when it ends, such as 2027-01-31 or 2027-01-31T09:30:00Z", parseExpiry)
  .action((options: { name: string; workspace: string; scopes: Scope[]; expires?: Date }) =>
    withDatabase(async (database) => {
      const workspaceId = await getWorkspaceId(database, options.workspace);
      const { name, scopes, expires: expiresAt = null } = options;
      say((await createToken(database, { workspaceId, name, scopes, expiresAt })).token);
    }),
  );

token
  .command("list")
  .description("list the access tokens of a workspace, without their secrets")
  .addOption(workspaceOption())
  .action(({ workspace }: { workspace: string }) =>
    withDatabase(async (database) => {
      for (const listed of await listTokens(database, await getWorkspaceId(database, workspace))) {
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
  .argument("<id>", "the id that `token list` shows")
  .addOption(workspaceOption())
  .action((id: string, { workspace }: { workspace: string }) =>
    withDatabase(async (database) => {
      const workspaceId = await getWorkspaceId(database, workspace);
      if (!(await revokeToken(database, { workspaceId, id }))) {
        throw new Error(`The workspace "${workspace}" has no working token with the id ${id}.`);
      }
      say(`Revoked ${id}.`);
    }),
  );

/** Runs a command on the migrated database of the configuration. */
async function withDatabase(run: (database: Database, applied: string[]) => Promise<void>): Promise<void> {
  const database = await openDatabase(loadConfig().databaseUrl);
  try {
    await run(database, await migrate(database));
  } finally {
    await database.close();
  }
}

function workspaceOption(): Option {
  return new Option("--workspace <name>", "the workspace").default(FIRST_WORKSPACE);
}

function parseScopes(list: string): Scope[] {
  const named = list.split(",").map((scope) => scope.trim());
  const unknown = named.find((scope) => !scopes.includes(scope as Scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is not one of ${scopes.join(", ")}.`);
  return named as Scope[];
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
