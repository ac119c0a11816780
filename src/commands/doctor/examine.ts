import { counted } from "../../analytics/checkup.resolvers.ts";
import { loadConfig } from "../../config.ts";
import type { Database } from "../../database/open.ts";
import { printable } from "../../printable.ts";
import { commandLineContext, getWorkspaceId, listWorkspaces } from "../../workspaces/resolvers.ts";
import { formatTime, printJson, printLines } from "../printing.ts";
import { withDatabase } from "../workspace.ts";
import { checkService, invalidTokens, type ServiceCheck } from "./serviceCheck.ts";
import { checkWorkspace, type WorkspaceCheckup, type WorkspaceFinding } from "./workspaceCheck.ts";

/** Problems of a workspace that are printed; more of them say little more. */
const MAX_PRINTED = 20;

interface DatabaseCheck {
  place: string;
  sizeBytes: number;
  workspaces: WorkspaceCheckup[];
}

/** Checks everything and prints it. The exit code is 1 when something needs attention. */
export async function examine({ workspace, json }: { workspace?: string; json?: true }): Promise<void> {
  const service = await checkService(loadConfig());
  const { database, findings } = await tryDatabase(workspace);
  const attention = [...service.findings.map((finding) => ({ workspace: null, ...finding })), ...findings];
  if (json) await printJson(toJson(service, database, attention));
  else await printLines(toLines(service, database, attention).map(printable));
  if (attention.length > 0) process.exitCode = 1;
}

/** A database that cannot be opened is a finding like others. */
async function tryDatabase(
  workspace: string | undefined,
): Promise<{ database: DatabaseCheck | null; findings: WorkspaceFinding[] }> {
  const checked: DatabaseCheck[] = [];
  const findings: WorkspaceFinding[] = [];
  try {
    await withDatabase(async (database) => void checked.push(await checkDatabase(database, workspace)));
  } catch (error) {
    const advice = "Check DATABASE_URL, which must be that of the service, and the names of this command.";
    findings.push({ workspace: null, problem: (error as Error).message, advice });
  }
  for (const { workspaces } of checked) findings.push(...workspaces.flatMap((one) => one.findings));
  return { database: checked[0] ?? null, findings };
}

async function checkDatabase(database: Database, only: string | undefined): Promise<DatabaseCheck> {
  const all =
    only === undefined
      ? await listWorkspaces(database)
      : [{ id: await getWorkspaceId(database, only), name: only }];
  const workspaces: WorkspaceCheckup[] = [];
  for (const { id, name } of all)
    workspaces.push(await checkWorkspace(commandLineContext(database, id), name));
  const { dialect, orm } = database;
  return { place: dialect.place, sizeBytes: await dialect.sizeOf(orm), workspaces };
}

function toJson(service: ServiceCheck, database: DatabaseCheck | null, attention: WorkspaceFinding[]) {
  const { findings: _, ...checked } = service;
  const workspaces = database?.workspaces.map(({ findings, ...more }) => more) ?? [];
  const { place, sizeBytes } = database ?? { place: null, sizeBytes: null };
  return {
    isWell: attention.length === 0,
    service: checked,
    database: { place, sizeBytes },
    workspaces,
    attention,
  };
}

const MEGABYTE = 1024 * 1024;

function toLines(
  service: ServiceCheck,
  database: DatabaseCheck | null,
  attention: WorkspaceFinding[],
): string[] {
  const size = database && (database.sizeBytes / MEGABYTE).toLocaleString("en", { maximumFractionDigits: 1 });
  return [
    ...serviceLines(service),
    ...(database ? [`Database: ${database.place}, ${size} MB.`] : []),
    ...(database?.workspaces ?? []).flatMap(workspaceLines),
    "",
    ...(attention.length === 0 ? ["All is well."] : ["What needs attention:"]),
    ...attention
      .slice(0, MAX_PRINTED)
      .flatMap(({ workspace, problem, advice }) => [
        `- ${workspace === null ? "" : `Workspace ${JSON.stringify(workspace)}: `}${problem}`,
        `  ${advice}`,
      ]),
    ...(attention.length > MAX_PRINTED
      ? [`and ${attention.length - MAX_PRINTED} more, which --json shows.`]
      : []),
  ];
}

function serviceLines({ url, status, unauthenticated }: ServiceCheck): string[] {
  const line = `Service:  ${url} is ${status}.`;
  if (!unauthenticated) return [line];
  return [
    line,
    `  ${counted(unauthenticated, "request")} since its start had no valid token.`,
    `  ${invalidTokens}`,
  ];
}

function workspaceLines({ name, tokens, arrived, rejected }: WorkspaceCheckup): string[] {
  const { lastHour, lastDay, lastTraceAt } = arrived;
  const numbers = ({ traces, logs, datasetRows }: typeof lastDay) =>
    [counted(traces, "trace"), counted(logs, "log"), counted(datasetRows, "dataset row")].join(", ");
  const total = rejected.reduce((sum, { count }) => sum + count, 0);
  return [
    "",
    `Workspace ${JSON.stringify(name)}:`,
    `  Tokens:    ${tokens.map(({ name, scopes, isExpired }) => `${name} (${isExpired ? "expired" : scopes.join(", ")})`).join("; ") || "none"}.`,
    `  Last hour: ${numbers(lastHour)}.`,
    `  Last day:  ${numbers(lastDay)}; ${counted(total, "rejected request")}.`,
    `  Last call: ${lastTraceAt ? `began at ${formatTime(lastTraceAt)}` : "none"}.`,
  ];
}
