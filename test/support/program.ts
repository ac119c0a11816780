import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Context } from "../../src/context.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { seedDatabase } from "../../src/sample/seed.ts";
import { commandLineContext, createWorkspace, getWorkspaceId } from "../../src/workspaces/resolvers.ts";

export const program = fileURLToPath(new URL("../../bin/gabbro.js", import.meta.url));

/** Runs `gabbro` in a folder to its end. */
export async function gabbro(folder: string, args: string[], env: Record<string, string> = {}) {
  const options = { cwd: folder, env: { PATH: process.env.PATH, ...env }, maxBuffer: 100_000_000 };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args], options);
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

/** A folder with a database in which the command line runs, with the workspaces "default" and "other". */
export async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const database = await openDatabase(`sqlite:${join(folder, "data", "gabbro.sqlite")}`, entities);
  await migrate(database);
  await seedDatabase(database, { firstToken: null, sample: "empty" });
  await createWorkspace(database, "other");
  return {
    folder,
    path: (name: string) => join(folder, name),
    /** What the command line stores, as the service sees it. */
    contextOf: async (workspace = "default"): Promise<Context> =>
      commandLineContext(database, await getWorkspaceId(database, workspace)),
    /** Runs `gabbro` to its end. */
    gabbro: (...args: string[]) => gabbro(folder, args),
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
