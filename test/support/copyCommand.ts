import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { addLogs } from "./logs.ts";
import { gabbro, program } from "./program.ts";
import type { Server } from "./server.ts";

/** Where a test copies to, below the folder of its server. */
export const fileIn = ({ folder }: Server) => join(folder, "to", "copy.sqlite");

/** Copies a database by the program; that of the server unless another is named. */
export const copy = ({ folder, databaseUrl }: Server, to: string, from = databaseUrl) =>
  gabbro(folder, ["copy", "--from", from, "--to", to]);

/** A copy that ends with such a message and nothing else. */
export const refused = (message: string | RegExp) => ({
  code: 1,
  stdout: "",
  stderr: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
});

/** Starts a copy that is long enough to be met in the middle, and waits until it has begun to write. */
export async function startCopy(server: Server) {
  await addLogs(server, 5_000, (at) => ({ output: `zebra ${at} ${"word ".repeat(300)}` }));
  const args = ["copy", "--from", server.databaseUrl, "--to", `sqlite:${fileIn(server)}`];
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env.PATH } });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(child, "exit");
  const written = `${fileIn(server)}.copy-${child.pid}-wal`;
  await vi.waitUntil(() => existsSync(written) && statSync(written).size > 1_000_000, { timeout: 20_000 });
  return { child, ended, said: () => said };
}
