import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { runCommandLine } from "../../src/commandLine.ts";
import type { Context } from "../../src/context.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { seedDatabase } from "../../src/sample/seed.ts";
import { commandLineContext, createWorkspace, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import type { Ended } from "./program.ts";

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line in a folder, in this process: most of the time of a short program goes into its start. A process has
 * one folder, one environment and one output, so one command runs after another.
 */
export function runCommand(folder: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const ended = last.then(() => runHere(folder, args, env));
  last = ended.catch(() => {});
  return ended;
}

async function runHere(folder: string, args: string[], env: Record<string, string>): Promise<Ended> {
  const before = { folder: process.cwd(), env: process.env, exitCode: process.exitCode };
  const stdout = capture("stdout");
  const stderr = capture("stderr");
  try {
    process.chdir(folder);
    process.env = { PATH: before.env.PATH, ...env };
    process.exitCode = undefined;
    await runCommandLine(args);
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    stdout.end();
    stderr.end();
    process.exitCode = before.exitCode;
    process.env = before.env;
    process.chdir(before.folder);
  }
}

/** Puts a stream that keeps its text in the place of an output of this process. */
function capture(name: "stdout" | "stderr") {
  const before = Object.getOwnPropertyDescriptor(process, name)!;
  let text = "";
  const write = (chunk: unknown, _: string, done: () => void) => {
    text += chunk;
    done();
  };
  Object.defineProperty(process, name, {
    configurable: true,
    value: new Writable({ write, decodeStrings: false }),
  });
  return { text: () => text, end: () => Object.defineProperty(process, name, before) };
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
    /** Runs a command line to its end. */
    gabbro: (...args: string[]) => runCommand(folder, args),
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
