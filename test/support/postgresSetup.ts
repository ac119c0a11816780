import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { findBinaries } from "./postgresServer.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A PostgreSQL server on which tests may make databases, and the one to copy; null for tests on SQLite. */
    postgresql: { url: string; template: string } | null;
  }
}

/** In an order of its own, not that of the bytes: what is compared and sorted must not depend on it. */
export const NEW_DATABASE = "template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'";

/** Starts the server of all tests on PostgreSQL, or takes the one of TEST_POSTGRES_URL, and makes what they copy. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const server = process.env.TEST_POSTGRES_URL ? null : await startServer();
  const url = server?.url ?? process.env.TEST_POSTGRES_URL!;
  const template = `gabbro_template_${process.pid}`;
  await execute(url, `create database ${template} template ${NEW_DATABASE}`);
  const database = await openDatabase(urlOf(url, template), entities);
  await migrate(database);
  await database.close();
  project.provide("postgresql", { url, template });
  return async () => {
    await execute(url, `drop database if exists ${template} with (force)`).catch(() => {});
    await server?.stop();
  };
}

/** The URL of another database on the same server. */
export function urlOf(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** Runs one statement on a connection of its own and gives its rows. */
// biome-ignore lint/suspicious/noExplicitAny: rows of any statement
export async function execute(url: string, statement: string): Promise<any[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function startServer() {
  const program = fileURLToPath(new URL("./postgresServer.ts", import.meta.url));
  // In a group of its own, so that an interruption from the keyboard does not reach it before the tests have ended.
  const child = spawn(process.execPath, [program, findBinaries()!], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const said = await Promise.race([once(child.stdout, "data"), once(child, "exit").then(() => null)]);
  if (!said) throw new Error("The PostgreSQL server of the tests did not start.");
  child.unref();
  return {
    url: String(said[0]).trim(),
    stop: async () => {
      const ended = once(child, "exit");
      child.stdin.end();
      await ended;
    },
  };
}
