import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect } from "vitest";
import type { PromptImport } from "../../src/commands/import/importedPrompts.ts";
import { runImport } from "../../src/commands/import/importFrom.ts";
import { createOutcome } from "../../src/commands/import/importOutcome.ts";
import type { ProductName } from "../../src/importers/importers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { type Server, startServer } from "./server.ts";

/** The path of a fixture of the importers. */
export const fixture = (name: string): string =>
  fileURLToPath(new URL(`../importers/fixtures/${name}`, import.meta.url));

/** What a test of an importer works with, anew for each test of the file that calls this. */
export function importing(product: ProductName) {
  const at = {
    server: undefined as unknown as Server,
    /** An empty folder. */
    folder: "",
    /** Writes values as JSON Lines to a file of the folder; returns its path. */
    write: async (name: string, ...values: object[]): Promise<string> => {
      const path = join(at.folder, name);
      await writeFile(path, values.map((value) => JSON.stringify(value)).join("\n"));
      return path;
    },
    importFrom: (path: string, how?: Partial<PromptImport>) => importInto(at.server, product, path, how),
    graphql: async (query: string) => {
      const { body } = await at.server.graphql(query);
      expect(body.errors).toBeUndefined();
      return body.data;
    },
  };
  beforeEach(async () => {
    at.server = await startServer();
    at.folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  });
  afterEach(async () => {
    await at.server[Symbol.asyncDispose]();
    await rm(at.folder, { recursive: true, force: true });
  });
  return at;
}

/** Imports into the workspace of a server; returns the report. */
export async function importInto(
  { database }: Server,
  product: ProductName,
  path: string,
  { run = "real", tags = "kept" }: Partial<PromptImport> = {},
) {
  const context = commandLineContext(database, await getWorkspaceId(database, "default"));
  const outcome = createOutcome();
  await runImport(context, { product, path, run, tags }, outcome);
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
