import { fileURLToPath } from "node:url";
import type { PromptImport } from "../../src/commands/import/importedPrompts.ts";
import { runImport } from "../../src/commands/import/importFrom.ts";
import type { ProductName } from "../../src/importers/importers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import type { Server } from "./server.ts";

/** The path of a fixture of the importers. */
export const fixture = (name: string): string =>
  fileURLToPath(new URL(`../importers/fixtures/${name}`, import.meta.url));

/** Imports into the workspace of a server; returns the report. */
export async function importInto(
  { database }: Server,
  product: ProductName,
  path: string,
  { run = "real", tags = "kept" }: Partial<PromptImport> = {},
) {
  const context = commandLineContext(database, await getWorkspaceId(database, "default"));
  const outcome = await runImport(context, { product, path, run, tags });
  return {
    counts: outcome.counts,
    refusals: outcome.refusals.map(({ line, reason }) => `line ${line}: ${reason}`),
    leftOut: Object.fromEntries(outcome.leftOut),
  };
}

const tables = ["prompts", "prompt_versions", "prompt_tags", "datasets", "dataset_rows", "traces", "logs"];

/** All rows that an import may write. */
export async function allRows({ database }: Server): Promise<Record<string, unknown[]>> {
  const em = database.orm.em.fork();
  const read = async (table: string) =>
    [table, await em.execute(`select * from ${table} order by id`)] as const;
  return Object.fromEntries(await Promise.all(tables.map(read)));
}
