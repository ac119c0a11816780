import { InvalidArgumentError, Option } from "commander";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import { printable } from "../printable.ts";
import { FIRST_WORKSPACE } from "../workspaces/firstWorkspace.ts";

// The database is most of what the program loads, so a command loads it when it runs: help and wrong usage need none.

/** Runs a command in a workspace of the database of the configuration. */
export async function withWorkspace(name: string, run: (context: Context) => Promise<void>): Promise<void> {
  const { commandLineContext, getWorkspaceId } = await import("../workspaces/resolvers.ts");
  await withDatabase(async (database) =>
    run(commandLineContext(database, await getWorkspaceId(database, name))),
  );
}

/** Runs a command on the migrated database of the configuration, which the service must have created. */
export async function withDatabase(run: (database: Database) => Promise<void>): Promise<void> {
  const { loadConfig } = await import("../config.ts");
  const { bringUpToDate } = await import("../database/migrate.ts");
  const { missingDatabase, openDatabase } = await import("../database/open.ts");
  const { entities } = await import("../entities.ts");
  const config = loadConfig();
  const { databaseUrl } = config;
  const missing = missingDatabase(databaseUrl);
  if (missing) {
    throw new Error(
      `There is no database at ${missing}. Start the service first, or say where it is with DATABASE_URL.`,
    );
  }
  const database = await openDatabase(databaseUrl, entities, config);
  try {
    const backup = await bringUpToDate(database, config);
    if (backup) warn(`Migrated the database, and before that copied it to ${backup}.`);
    await run(database);
  } finally {
    await database.close();
  }
}

export function workspaceOption(): Option {
  return new Option("--workspace <name>", "the workspace").default(FIRST_WORKSPACE);
}

export function parseName(name: string): string {
  if (name.trim() === "" || /\p{Cc}/u.test(name))
    throw new InvalidArgumentError("It must be a text on one line.");
  return name;
}

/** Prints a line; escapes control characters, as it may contain text of callers. */
export function say(line: string): void {
  process.stdout.write(`${printable(line)}\n`);
}

/** Like `say`, on the standard error. */
export function warn(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}
