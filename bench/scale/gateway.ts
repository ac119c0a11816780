import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../../test/support/postgresServer.ts";
import { startCommand } from "../processes.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Starts the program as it is run in production, on a free port. */
export async function startGateway(databaseUrl: string) {
  const port = await freePort();
  const env = {
    ...process.env,
    ...{ PORT: String(port), HOST: "127.0.0.1", DATABASE_URL: databaseUrl, LOG_LEVEL: "warn" },
  };
  const child = spawn(process.execPath, startCommand, {
    cwd: here("../.."),
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => /ready/.test(chunk.toString()) && resolve());
    child.once("exit", () => reject(new Error("The gateway ended early.")));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    stop: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

export interface Load {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: unknown;
  connections: number;
  seconds: number;
}

/** Sends one request again and again, from a process of its own. */
export async function load(
  request: Load,
): Promise<{ perSecond: number; p50Ms: number; p99Ms: number; failed: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    here("../load.ts"),
    JSON.stringify(request),
  ]);
  return JSON.parse(stdout);
}
