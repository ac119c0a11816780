import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { findBinaries } from "../test/support/postgresServer.ts";

/** Starts the PostgreSQL server that npm brought along, which writes safely, and gives its URL and how to stop it. */
export async function startPostgresql(settings: Record<string, string>) {
  const program = fileURLToPath(new URL("../test/support/postgresServer.ts", import.meta.url));
  const binaries = findBinaries();
  if (!binaries)
    throw new Error("There is no PostgreSQL in node_modules for this machine; name one with --url.");
  const safe = { fsync: "on", full_page_writes: "on", synchronous_commit: "on" };
  const child = spawn(process.execPath, [program, binaries, JSON.stringify({ ...safe, ...settings })], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [url] = await once(child.stdout, "data");
  return {
    url: String(url).trim(),
    stop: async () => {
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
