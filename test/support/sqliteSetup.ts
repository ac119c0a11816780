import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A migrated SQLite file for tests to copy; undefined where each migrates its own. */
    migratedFile: string | undefined;
  }
}

/** Migrates one file for all tests: half of what the start of a server takes. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "migrated.sqlite");
  const database = await openDatabase(`sqlite:${file}`, entities);
  await migrate(database);
  await database.close();
  project.provide("migratedFile", file);
  return () => rm(folder, { recursive: true, force: true });
}
