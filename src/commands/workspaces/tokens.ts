import { type Command, InvalidArgumentError, Option } from "commander";
import type { Context } from "../../context.ts";
import { type Scope, scopes } from "../../scopes.ts";
import type { AccessToken } from "../../workspaces/entities.ts";
import { examples, jsonOption } from "../options.ts";
import { formatTime, printJson, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { parseTime } from "../times.ts";
import { parseName, say, withWorkspace, workspaceOption } from "../workspace.ts";

interface TokenOptions {
  workspace: string;
  json?: true;
}

/** The commands for access tokens. */
export function addTokenCommands(program: Command): void {
  const token = program.command("token").description("make, list and revoke access tokens");

  token
    .command("create")
    .description("make an access token and show it, once")
    .requiredOption("--name <name>", "what it is for", parseName)
    .addOption(workspaceOption())
    .addOption(
      new Option("--scopes <scopes>", `what it may do, with commas between: ${scopes.join(",")}`)
        .argParser(parseScopes)
        .default(["read", "write"], "read,write"),
    )
    .option("--expires <time>", "when it ends, such as 2027-01-31 or 2027-01-31T09:30:00Z", parseExpiry)
    .addOption(jsonOption())
    .addHelpText(
      "after",
      examples("token create --name ci --scopes read", "token create --name app --expires 2027-01-31"),
    )
    .action(({ workspace, ...options }: CreateOptions & TokenOptions) =>
      withWorkspace(workspace, (context) => create(context, options)),
    );

  token
    .command("list")
    .description("list the access tokens of a workspace, without their secrets")
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("token list", "token list --json"))
    .action(({ workspace, json }: TokenOptions) =>
      withWorkspace(workspace, async (context) => {
        const { accessTokens } = await import("../../workspaces/tokens.resolvers.ts");
        const tokens = await accessTokens(context);
        if (json) await printJson(tokens.map(toJson));
        else await printLines(toTable(tokenColumns, tokens));
      }),
    );

  token
    .command("revoke")
    .description("end an access token; running servers follow within a second")
    .argument("<id>", "the id that `token list` shows", parseId)
    .addOption(jsonOption())
    .addOption(workspaceOption())
    .addHelpText("after", examples("token revoke 01a2079f-b674-7223-8fca-8d1fafb95da8"))
    .action((id: string, { workspace, json }: TokenOptions) =>
      withWorkspace(workspace, async (context) => {
        const { revokeAccessToken } = await import("../../workspaces/tokens.resolvers.ts");
        const revoked = await revokeAccessToken(context, { id });
        if (json) await printJson(toJson(revoked));
        else say(`Revoked ${id}.`);
      }),
    );
}

interface CreateOptions {
  name: string;
  scopes: Scope[];
  expires?: Date;
  json?: true;
}

async function create(context: Context, { name, scopes, expires, json }: CreateOptions): Promise<void> {
  const { createAccessToken } = await import("../../workspaces/tokens.resolvers.ts");
  const { token, accessToken } = await createAccessToken(context, {
    name,
    scopes,
    expiresAt: expires ?? null,
  });
  if (json) await printJson({ ...toJson(accessToken), token });
  else say(token);
}

function toJson({ id, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt }: AccessToken) {
  return { id, name, scopes, createdAt, expiresAt, revokedAt, lastUsedAt };
}

const tokenColumns: Column<AccessToken>[] = [
  { title: "ID", cell: ({ id }) => id, isWhole: true },
  { title: "NAME", cell: ({ name }) => name },
  { title: "SCOPES", cell: ({ scopes }) => scopes.join(",") },
  { title: "STATE", cell: stateOf },
  { title: "MADE", cell: ({ createdAt }) => formatTime(createdAt) },
  { title: "LAST USED", cell: ({ lastUsedAt }) => (lastUsedAt ? formatTime(lastUsedAt) : "never") },
];

function stateOf({ revokedAt, expiresAt }: AccessToken): string {
  if (revokedAt) return `revoked ${formatTime(revokedAt)}`;
  if (!expiresAt) return "never expires";
  return `${expiresAt <= new Date() ? "expired" : "expires"} ${formatTime(expiresAt)}`;
}

function parseId(id: string): string {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id))
    throw new InvalidArgumentError("It must be an id that `token list` shows.");
  return id.toLowerCase();
}

function parseScopes(list: string): Scope[] {
  const names = list.split(",").map((scope) => scope.trim());
  const unknown = names.find((scope) => !scopes.includes(scope as Scope));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is not one of ${scopes.join(", ")}.`);
  return [...new Set(names as Scope[])];
}

function parseExpiry(value: string): Date {
  const time = parseTime(value);
  if (time <= new Date()) throw new InvalidArgumentError("It is in the past.");
  return time;
}
