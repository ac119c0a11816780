import { type Command, InvalidArgumentError, Option } from "commander";
import { type Scope, scopes } from "../scopes.ts";
import { parseTimestamp } from "../validation/dateTime.ts";
import { createWorkspace, listWorkspaces } from "../workspaces/resolvers.ts";
import { accessTokens, createAccessToken, revokeAccessToken } from "../workspaces/tokens.resolvers.ts";
import { parseName, say, withDatabase, withWorkspace, workspaceOption } from "./workspace.ts";

/** The commands for access tokens. */
export function addTokenCommands(program: Command): void {
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
        for (const listed of await accessTokens(context)) say(lineOf(listed));
      }),
    );

  token
    .command("revoke")
    .description("end an access token; running servers follow within a second")
    .argument("<id>", "the id that `token list` shows", parseId)
    .addOption(workspaceOption())
    .action((id: string, { workspace }: { workspace: string }) =>
      withWorkspace(workspace, async (context) => {
        await revokeAccessToken(context, { id });
        say(`Revoked ${id}.`);
      }),
    );
}

/** The commands for workspaces. */
export function addWorkspaceCommands(program: Command): void {
  const workspaces = program.command("workspace").description("make and list workspaces");

  workspaces
    .command("create")
    .description(
      "make a workspace; make a token in it with: gabbro token create --workspace NAME --name NAME",
    )
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
}

function lineOf(token: Awaited<ReturnType<typeof accessTokens>>[number]): string {
  const { id, name, scopes, createdAt, lastUsedAt } = token;
  return [
    id,
    name,
    scopes.join(","),
    stateOf(token),
    `made ${createdAt.toISOString()}`,
    lastUsedAt ? `last used ${lastUsedAt.toISOString()}` : "never used",
  ].join("  ");
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

function parseExpiry(value: string): Date {
  const moment = parseTimestamp(value);
  if (!moment) throw new InvalidArgumentError("It is not an existing time in ISO 8601.");
  if (moment <= new Date()) throw new InvalidArgumentError("It is in the past.");
  return moment;
}

function stateOf({ revokedAt, expiresAt }: { revokedAt: Date | null; expiresAt: Date | null }): string {
  if (revokedAt) return `revoked ${revokedAt.toISOString()}`;
  if (!expiresAt) return "never expires";
  return `${expiresAt <= new Date() ? "expired" : "expires"} ${expiresAt.toISOString()}`;
}
