import type { Command } from "commander";
import type { listWorkspaces } from "../../workspaces/resolvers.ts";
import { examples, jsonOption } from "../options.ts";
import { formatTime, printJson, printLines } from "../printing.ts";
import { type Column, toTable } from "../table.ts";
import { parseName, say, withDatabase } from "../workspace.ts";

/** The commands for workspaces. */
export function addWorkspaceCommands(program: Command): void {
  const workspaces = program.command("workspace").description("make and list workspaces");

  workspaces
    .command("create")
    .description("make a workspace")
    .argument("<name>", "its name", parseName)
    .addOption(jsonOption())
    .addHelpText("after", examples("workspace create team-b", "token create --workspace team-b --name first"))
    .action((name: string, { json }: { json?: true }) =>
      withDatabase(async (database) => {
        const { createWorkspace } = await import("../../workspaces/resolvers.ts");
        const id = await createWorkspace(database, name);
        if (json) await printJson({ id, name });
        else say(`Made the workspace "${name}".`);
      }),
    );

  workspaces
    .command("list")
    .description("list the workspaces")
    .addOption(jsonOption())
    .addHelpText("after", examples("workspace list"))
    .action(({ json }: { json?: true }) =>
      withDatabase(async (database) => {
        const { listWorkspaces } = await import("../../workspaces/resolvers.ts");
        const workspaces = await listWorkspaces(database);
        if (json) await printJson(workspaces);
        else await printLines(toTable(columns, workspaces));
      }),
    );
}

const columns: Column<Awaited<ReturnType<typeof listWorkspaces>>[number]>[] = [
  { title: "NAME", cell: ({ name }) => name, isWhole: true },
  { title: "MADE", cell: ({ createdAt }) => formatTime(createdAt) },
];
